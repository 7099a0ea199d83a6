#include "analysis/heads/head_scores.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/numbers.hpp"

using namespace attn;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

AttentionSpec spec_of(Mask mask, std::optional<float> scale = std::nullopt) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    spec.scale = scale;
    return spec;
}

// Makes a causal head whose weights are `rows` (each sums to 1): its scores are ln w against unit keys.
Record causal_head(const std::vector<std::vector<double>>& rows) {
    const Index n = std::ssize(rows);
    Tensor q({1, n, n}), k({1, n, n}), v({1, n, 1});
    for (Index i = 0; i < n; ++i) {
        k.data()[i * n + i] = 1;
        v.data()[i] = 2;
        for (Index j = 0; j <= i; ++j)
            q.data()[i * n + j] =
                static_cast<float>(std::log(rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]));
    }
    return *Record::run(std::move(q), std::move(k), std::move(v), spec_of(Mask::causal(), 1));
}

HeadScores scores_of(const Record& record, Index head, std::span<const std::int32_t> ids) {
    const std::shared_ptr<const Record> pointer(std::shared_ptr<const Record>(),
                                                &record);  // owns nothing
    HeadScoring scoring(stage_map(pointer, head, Stage::weight), ids);
    while (scoring.step()) {
    }
    REQUIRE(scoring.done());
    return scoring.scores();
}

}  // namespace

TEST_CASE("the worked example of TransformerLens' head detector") {
    const Record record = causal_head({{1}, {0.5, 0.5}, {0.2, 0.3, 0.5}, {0.1, 0.15, 0.5, 0.25}});
    const std::vector<std::int32_t> ids{7, 8, 7, 9};
    const HeadScores s = scores_of(record, 0, ids);
    CHECK_THAT(s.previous_token, WithinAbs(0.325, 1e-6));
    CHECK_THAT(s.current_token, WithinAbs((1 + 0.5 + 0.5 + 0.25) / 4, 1e-6));
    CHECK_THAT(s.first_token, WithinAbs((1 + 0.5 + 0.2 + 0.1) / 4, 1e-6));
    CHECK_THAT(s.duplicate_token, WithinAbs(0.2 / 4, 1e-6));  // the second 7 attends to the first
    CHECK_THAT(s.induction, WithinAbs(0.3 / 4, 1e-6));        // and to the token that followed it
    CHECK_THAT(s.distance, WithinAbs((0.5 + (0.4 + 0.3) + (0.3 + 0.3 + 0.5)) / 4, 1e-6));

    const auto entropy = [](std::initializer_list<double> row) {
        double h = 0;
        for (const double w : row) h -= w * std::log(w);
        return h;
    };
    const double h1 = entropy({0.5, 0.5}), h2 = entropy({0.2, 0.3, 0.5}),
                 h3 = entropy({0.1, 0.15, 0.5, 0.25});
    CHECK_THAT(s.entropy, WithinAbs((h1 + h2 + h3) / 4, 1e-6));
    CHECK_THAT(s.spread, WithinAbs((h1 / std::log(2) + h2 / std::log(3) + h3 / std::log(4)) / 3, 1e-6));
}

TEST_CASE("slices and tiles add up to the sums over all cells") {
    const Index n = GENERATE(Index{1}, Index{37}, Index{1100});
    const Mask mask = GENERATE(Mask::everything(), Mask::causal(), Mask::causal() & Mask::window(5, 0));
    const Index head = 3;
    const Record record = *Record::run(test::random_tensor({4, n, 8}, 1), test::random_tensor({2, n, 8}, 2),
                                       test::random_tensor({2, n, 3}, 3), spec_of(mask));
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 23));

    double all = 0, previous = 0, current = 0, first = 0, duplicate = 0, induction = 0, distance = 0,
           entropy = 0;
    for (Index q = 0; q < n; ++q) {
        const std::vector<float> weights = record.weights(head, q);
        const auto token = [&](Index i) { return ids[static_cast<std::size_t>(i)]; };
        for (Index k = 0; k < n; ++k) {
            const double w = static_cast<double>(weights[static_cast<std::size_t>(k)]);
            all += w;
            if (w > 0) entropy -= w * std::log(w);
            if (k == q - 1) previous += w;
            if (k == q) current += w;
            if (k == 0) first += w;
            if (k < q && token(k) == token(q)) duplicate += w;
            if (k >= 1 && k <= q && token(k - 1) == token(q)) induction += w;
            distance += w * std::abs(static_cast<double>(q - k));
        }
    }
    // Both add up the same f32 weights; the entropies of rows are rounded to f32.
    const HeadScores s = scores_of(record, head, ids);
    CHECK_THAT(s.previous_token, WithinAbs(previous / all, 1e-6));
    CHECK_THAT(s.current_token, WithinAbs(current / all, 1e-6));
    CHECK_THAT(s.first_token, WithinAbs(first / all, 1e-6));
    CHECK_THAT(s.duplicate_token, WithinAbs(duplicate / all, 1e-6));
    CHECK_THAT(s.induction, WithinAbs(induction / all, 1e-6));
    CHECK_THAT(s.distance, WithinRel(distance / all, 1e-6) || WithinAbs(0, 1e-12));
    CHECK_THAT(s.entropy, WithinAbs(entropy / static_cast<double>(n), 1e-5));
}

TEST_CASE("a row without a visible key is not counted") {
    const Record record = *Record::run(test::random_tensor({1, 3, 4}, 4), test::random_tensor({1, 3, 4}, 5),
                                       test::random_tensor({1, 3, 2}, 6), spec_of(Mask::causal(-1)));
    const std::vector<std::int32_t> ids{1, 2, 3};
    const HeadScores s = scores_of(record, 0, ids);  // row 0 is empty, row 1 sees key 0 alone, row 2 sees two
    CHECK(s.current_token == 0);
    CHECK(s.entropy > 0);
    CHECK(s.spread <= 1);
    CHECK_THAT(s.entropy, WithinAbs(s.spread * std::log(2) / 2, 1e-6));
}

TEST_CASE("finished weights are scored from their stored numbers") {
    const Index n = 70;
    std::vector<double> stored;
    for (Index i = 0; i < n * n; ++i) stored.push_back(static_cast<double>(i * i % 97) / 400);
    const ArrayView array{DType::f64, false, {n, n}, {n, 1}, std::as_bytes(std::span(stored))};
    const auto map = finished_map({nullptr, array});
    REQUIRE(map);
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 11));
    HeadScoring scoring(*map, ids);
    while (scoring.step()) {
    }
    double all = 0, previous = 0, first = 0, duplicate = 0, induction = 0, distance = 0, entropy = 0;
    for (Index q = 0; q < n; ++q)
        for (Index k = 0; k < n; ++k) {
            const double w = stored[static_cast<std::size_t>(q * n + k)];
            const auto token = [&](Index i) { return ids[static_cast<std::size_t>(i)]; };
            all += w;
            distance += w * static_cast<double>(std::abs(q - k));
            if (w > 0) entropy -= w * std::log(w);
            if (k == q - 1) previous += w;
            if (k == 0) first += w;
            if (k < q && token(k) == token(q)) duplicate += w;
            if (k >= 1 && k <= q && token(k - 1) == token(q)) induction += w;
        }
    // The weights are read as f32, each with a relative error within 2^-24.
    const HeadScores s = scoring.scores();
    CHECK_THAT(s.previous_token, WithinRel(previous / all, 1e-6));
    CHECK_THAT(s.first_token, WithinRel(first / all, 1e-6));
    CHECK_THAT(s.duplicate_token, WithinRel(duplicate / all, 1e-6));
    CHECK_THAT(s.induction, WithinRel(induction / all, 1e-6));
    CHECK_THAT(s.distance, WithinRel(distance / all, 1e-6));
    CHECK_THAT(s.entropy, WithinRel(entropy / static_cast<double>(n), 1e-6));
}

TEST_CASE("scores that need tokens or a square map are NaN without them") {
    const auto scores = [](Index n_q, Index n_k, std::span<const std::int32_t> ids) {
        const auto record = std::make_shared<const Record>(
            *Record::run(test::random_tensor({1, n_q, 4}, 4), test::random_tensor({1, n_k, 4}, 5),
                         test::random_tensor({1, n_k, 2}, 6), {}));
        HeadScoring scoring(stage_map(record, 0, Stage::weight), ids);
        while (scoring.step()) {
        }
        return scoring.scores();
    };
    const HeadScores nameless = scores(9, 9, {});
    CHECK(std::isnan(nameless.duplicate_token));
    CHECK(std::isnan(nameless.induction));
    CHECK(nameless.previous_token > 0);
    CHECK(nameless.distance > 0);

    const std::vector<std::int32_t> ids(9, 1);
    const HeadScores across = scores(9, 12, ids);
    for (const double value : {across.duplicate_token, across.induction, across.previous_token,
                               across.current_token, across.distance})
        CHECK(std::isnan(value));
    CHECK(across.entropy > 0);
    CHECK(across.first_token > 0);
}

TEST_CASE("a NaN row does not affect the scores of others, and zero rows are not counted") {
    const std::vector<float> good{1,    0,     0,     0, 0.25f, 0.75f, 0,    0,
                                  0.5f, 0.25f, 0.25f, 0, 0.1f,  0.2f,  0.3f, 0.4f};
    const auto scored = [](std::vector<float> numbers, Index rows) {
        const auto owner = std::make_shared<const std::vector<float>>(std::move(numbers));
        const ArrayView array{DType::f32, false, {rows, 4}, {4, 1}, std::as_bytes(std::span(*owner))};
        const std::vector<std::int32_t> ids{7, 8, 7, 9};
        HeadScoring scoring(*finished_map({owner, array}), ids);
        while (scoring.step()) {
        }
        return scoring.scores();
    };
    constexpr double HeadScores::* all[] = {&HeadScores::previous_token, &HeadScores::current_token,
                                            &HeadScores::first_token,    &HeadScores::duplicate_token,
                                            &HeadScores::induction,      &HeadScores::distance,
                                            &HeadScores::entropy,        &HeadScores::spread};
    const HeadScores whole = scored(good, 4);
    for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity(), 0.0f}) {
        CAPTURE(odd);
        // The second row is distributed over the keys such that each score changes.
        std::vector<float> numbers = good;
        for (std::size_t j = 4; j < 8; ++j) numbers[j] = odd;
        const HeadScores some = scored(numbers, 4);
        for (double HeadScores::* score : all) CHECK(std::isfinite(some.*score));
        CHECK_THAT(some.first_token, WithinAbs((1 + 0.5 + 0.1) / 3, 1e-6));
        CHECK_THAT(some.entropy,
                   WithinAbs((whole.entropy * 4 + 0.25 * std::log(0.25) + 0.75 * std::log(0.75)) / 3, 1e-6));
        const HeadScores none = scored(std::vector<float>(16, odd), 4);
        for (double HeadScores::* score : all) CHECK(std::isnan(none.*score));
    }
}

TEST_CASE("the entropy of a row with a NaN weight is NaN") {
    const auto owner =
        std::make_shared<const std::vector<float>>(std::vector<float>{0.5f, 0.5f, 0, 1, std::nanf(""), 0});
    const ArrayView array{DType::f32, false, {2, 3}, {3, 1}, std::as_bytes(std::span(*owner))};
    const MapPointer map = *finished_map({owner, array});
    Tensor cells({2, 3});
    std::vector<double> entropies(2);
    map->cells({{0, 2}, {0, 3}}, cells.matrix(), entropies);
    CHECK_THAT(entropies[0], WithinAbs(std::log(2.0), 1e-9));
    CHECK(std::isnan(entropies[1]));
}
