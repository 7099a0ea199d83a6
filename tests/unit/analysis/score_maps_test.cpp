// Compares each map with another method for the same weights, in long double.
#include "analysis/theory/score_maps.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <functional>

#include "attention/record.hpp"
#include "unit/analysis/score_rows.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Weights of up to 3,000 keys; their sums round to some 1e-14.
constexpr double weight_rounding = 1e-12;

MappedRow mapped(ScoreMap map, const std::vector<double>& scores, double temperature = 1) {
    return mapped_row(map, levels_of(scores), temperature);
}

// Finds the τ at which Σ f(s_j − τ) is 1, by bisection.
std::vector<double> by_bisection(std::vector<long double> scores,
                                 const std::function<long double(long double)>& f) {
    long double low = -3, high = 0;
    const long double most = std::ranges::max(scores);
    for (long double& score : scores) score -= most;
    for (int i = 0; i < 64; ++i) {
        const long double middle = (low + high) / 2;
        long double sum = 0;
        for (const long double score : scores) sum += f(score - middle);
        (sum > 1 ? low : high) = middle;
    }
    std::vector<double> weights;
    for (const long double score : scores) weights.push_back(static_cast<double>(f(score - low)));
    return weights;
}

std::vector<double> by_definition(ScoreMap map, const std::vector<double>& scores, double temperature) {
    std::vector<long double> s;
    long double n = 0;
    for (const double score : scores) {
        s.push_back(static_cast<long double>(score) / static_cast<long double>(temperature));
        n += score > -infinite;
    }
    std::vector<double> weights(s.size());
    const auto each = [&](auto&& f) {
        for (std::size_t j = 0; j < s.size(); ++j) weights[j] = static_cast<double>(f(s[j]));
    };
    const auto positive = [](long double x) { return std::max(x, 0.0L); };
    switch (map) {
        case ScoreMap::softmax:
        case ScoreMap::softmax_one: {
            // The additional key has score 0.
            const bool one = map == ScoreMap::softmax_one;
            const long double most = std::max(std::ranges::max(s), one ? 0.0L : -HUGE_VALL);
            long double sum = one ? std::exp(-most) : 0;
            for (const long double score : s) sum += std::exp(score - most);
            each([&](long double score) { return std::exp(score - most) / sum; });
            break;
        }
        case ScoreMap::sparsemax: return by_bisection(s, positive);
        case ScoreMap::entmax:
            for (long double& score : s) score /= 2;
            return by_bisection(s, [&](long double x) { return positive(x) * positive(x); });
        case ScoreMap::sigmoid:
            each([&](long double score) { return 1 / (1 + n * std::exp(-score)); });
            break;
        case ScoreMap::relu_squared:
            each([&](long double score) { return positive(score) * positive(score) / n; });
            break;
        case ScoreMap::linear: break;
    }
    return weights;
}

}  // namespace

TEST_CASE("every map of scores matches its reference, at every temperature") {
    for (const auto& scores : score_rows())
        for (std::size_t i = 0; i + 1 < score_map_count; ++i)
            for (const double t : {0.01, 0.5, 1.0, 40.0}) {
                const auto map = static_cast<ScoreMap>(i);
                const MappedRow row = mapped(map, scores, t);
                const std::vector<double> expected = by_definition(map, scores, t);
                INFO(info(map).name << " of " << scores.size() << " scores, the first " << scores[0] << ", T "
                                    << t);
                double sum = 0;
                Index support = 0;
                for (std::size_t j = 0; j < scores.size(); ++j) {
                    // For scores near 1e6, τ over T is only known to 1e-10.
                    REQUIRE(std::abs(row.weights[j] - expected[j]) <=
                            weight_rounding * (1 + expected[j]) +
                                1e-16 * std::abs(scores[j] == -infinite ? 0 : scores[j] / t));
                    sum += row.weights[j];
                    support += row.weights[j] > 0;
                    if (scores[j] == -infinite) REQUIRE(row.weights[j] == 0);
                }
                CHECK(row.sum == sum);
                CHECK(row.support == support);
                if (map == ScoreMap::softmax || map == ScoreMap::sparsemax || map == ScoreMap::entmax)
                    CHECK(std::abs(sum - 1) <= 1e-9);
                if (map == ScoreMap::softmax_one) CHECK(sum <= 1);
            }
}

TEST_CASE("known weights: pairs of scores, and the sum that softmax + 1 leaves") {
    CHECK(mapped(ScoreMap::sparsemax, {0.5, 0, -0.5}).weights == std::vector<double>{0.75, 0.25, 0});
    CHECK(mapped(ScoreMap::sparsemax, {1, 0}).weights == std::vector<double>{1, 0});
    CHECK(mapped(ScoreMap::entmax, {2, 0}).weights == std::vector<double>{1, 0});
    CHECK(mapped(ScoreMap::relu_squared, {3, -2}).weights == std::vector<double>{4.5, 0});
    const std::vector<double> sigmoid = mapped(ScoreMap::sigmoid, {0, 0, 0}).weights;
    CHECK(sigmoid[0] == Catch::Approx(0.25).epsilon(1e-15));
    CHECK(mapped(ScoreMap::softmax_one, {0, 0, 0}).sum == Catch::Approx(0.75).epsilon(1e-15));
    // With all scores far below 0, softmax + 1 attends to nothing, where softmax must attend to something.
    CHECK(mapped(ScoreMap::softmax_one, {-800, -801}).sum == 0);
    CHECK(mapped(ScoreMap::softmax, {-800, -801}).sum == Catch::Approx(1).epsilon(1e-15));
}

TEST_CASE("softmax, sparsemax and entmax do not change when all scores are raised, and the others do") {
    const std::vector<double> scores{0.3, -1, 2, 0.25}, raised{10.3, 9, 12, 10.25};
    for (std::size_t i = 0; i + 1 < score_map_count; ++i) {
        const auto map = static_cast<ScoreMap>(i);
        const auto a = mapped(map, scores).weights, b = mapped(map, raised).weights;
        const bool same = map == ScoreMap::softmax || map == ScoreMap::sparsemax || map == ScoreMap::entmax;
        INFO(info(map).name);
        double off = 0;
        for (std::size_t j = 0; j < a.size(); ++j) off = std::max(off, std::abs(a[j] - b[j]));
        CHECK((off < 1e-14) == same);
    }
}

TEST_CASE("maps have limits at T → 0 and T → ∞") {
    const std::vector<double> scores{2, 5, -infinite, 5, -1}, low{-2, -2, -3}, zero{0, -1};
    for (const ScoreMap map :
         {ScoreMap::softmax, ScoreMap::softmax_one, ScoreMap::sparsemax, ScoreMap::entmax}) {
        INFO(info(map).name);
        const std::vector<double> weights = mapped(map, scores, 0).weights;
        for (std::size_t j = 0; j < weights.size(); ++j)
            CHECK(weights[j] == Catch::Approx(scores[j] == 5 ? 0.5 : 0).epsilon(1e-15));
    }
    CHECK(mapped(ScoreMap::softmax_one, low, 0).sum == 0);
    CHECK(mapped(ScoreMap::softmax_one, zero, 0).weights == std::vector<double>{0.5, 0});
    CHECK(mapped(ScoreMap::sigmoid, scores, 0).weights == std::vector<double>{1, 1, 0, 1, 0});
    CHECK(mapped(ScoreMap::relu_squared, scores, 0).weights ==
          std::vector<double>{infinite, infinite, 0, infinite, 0});
    for (const ScoreMap map : {ScoreMap::softmax, ScoreMap::sparsemax, ScoreMap::entmax}) {
        const std::vector<double> weights = mapped(map, scores, infinite).weights;
        INFO(info(map).name);
        for (std::size_t j = 0; j < weights.size(); ++j)
            CHECK(weights[j] == Catch::Approx(std::isinf(scores[j]) ? 0 : 0.25).epsilon(1e-14));
    }
    CHECK(mapped(ScoreMap::softmax_one, scores, infinite).weights[0] == Catch::Approx(0.2).epsilon(1e-15));
    CHECK(mapped(ScoreMap::sigmoid, scores, infinite).weights[0] == Catch::Approx(0.2).epsilon(1e-15));
    CHECK(mapped(ScoreMap::relu_squared, scores, infinite).sum == 0);
    for (std::size_t i = 0; i + 1 < score_map_count; ++i)
        CHECK(mapped(static_cast<ScoreMap>(i), {-infinite, -infinite}).support == 0);
}

TEST_CASE("at T = 1 softmax equals the run's weights, and so does its output") {
    constexpr Index n = 30, d = 8;
    Random random(17);
    const auto drawn = [&](Index heads) {
        Tensor tensor({heads, n, d});
        for (float& each : tensor.values()) each = static_cast<float>(2 * random.normal());
        return tensor;
    };
    AttentionSpec spec;
    spec.softcap = 3;
    spec.mask = Mask::causal() & !Mask::window(2, -1);
    const auto record = Record::run(drawn(4), drawn(2), drawn(2), spec);
    REQUIRE(record);
    for (Index head = 0; head < 4; ++head)
        for (Index query = 0; query < n; ++query) {
            std::vector<float> scores(n);
            record->stage(Stage::masked, head, {query, query + 1}, {0, n}, scores);
            const MappedRow row = mapped(ScoreMap::softmax, {scores.begin(), scores.end()});
            const std::vector<float> weights = record->weights(head, query);
            const std::vector<double> output =
                mapped_output(row.weights, record->v().heads().head(record->kv_head(head)));
            // The kernels' weights are accurate to some units of 6e-8, and an output sums 30 of them times
            // values of about 2.
            for (std::size_t j = 0; j < weights.size(); ++j)
                CHECK(std::abs(row.weights[j] - static_cast<double>(weights[j])) < 1e-6);
            for (Index b = 0; b < d; ++b)
                CHECK(std::abs(output[static_cast<std::size_t>(b)] -
                               static_cast<double>(record->output().heads().head(head)(query, b))) < 1e-5);
        }
}

TEST_CASE("linear attention equals its sums over keys, which all queries share") {
    constexpr Index n = 25, d = 6;
    Random random(23);
    Tensor q({1, n, d}), k({1, n, d}), v({1, n, d});
    for (Tensor* tensor : {&q, &k, &v})
        for (float& each : tensor->values()) each = static_cast<float>(random.normal());
    const auto phi = [](float x) {
        return x > 0 ? static_cast<long double>(x) + 1 : std::exp(static_cast<long double>(x));
    };
    for (const Index query : {0, 7, 24}) {
        std::vector<double> scores(n, 0.0);
        for (Index j = query + 1; j < n; ++j) scores[static_cast<std::size_t>(j)] = -infinite;  // causal
        // S = Σ φ(k) vᵀ and z = Σ φ(k), equations 8 to 12 of the paper.
        std::vector<long double> s(d * d), z(d);
        for (Index j = 0; j <= query; ++j)
            for (Index a = 0; a < d; ++a) {
                const long double feature = phi(k.heads().head(0)(j, a));
                z[static_cast<std::size_t>(a)] += feature;
                for (Index b = 0; b < d; ++b)
                    s[static_cast<std::size_t>(a * d + b)] +=
                        feature * static_cast<long double>(v.heads().head(0)(j, b));
            }
        long double below = 0;
        for (Index a = 0; a < d; ++a)
            below += phi(q.heads().head(0)(query, a)) * z[static_cast<std::size_t>(a)];
        const MappedRow row =
            linear_row({q.heads().head(0).row(query), d}, k.heads().head(0), levels_of(scores));
        const std::vector<double> output = mapped_output(row.weights, v.heads().head(0));
        for (Index b = 0; b < d; ++b) {
            long double above = 0;
            for (Index a = 0; a < d; ++a)
                above += phi(q.heads().head(0)(query, a)) * s[static_cast<std::size_t>(a * d + b)];
            CHECK(std::abs(output[static_cast<std::size_t>(b)] - static_cast<double>(above / below)) <
                  weight_rounding);
        }
        CHECK(row.sum == Catch::Approx(1).epsilon(weight_rounding));
        CHECK(row.support == query + 1);
    }
    const std::vector<float> far(d, -1e5f);
    CHECK(linear_row(far, k.heads().head(0), levels_of(std::vector<double>(n, 0.0))).sum == 0);
}

TEST_CASE("a difference is relative, and a weight of 0 ignores its value") {
    CHECK(relative_difference(std::vector{3.0, 0.0}, std::vector{0.0, 4.0}) == 1.25);
    CHECK(std::isnan(relative_difference(std::vector{0.0}, std::vector{0.0})));
    Tensor v({2, 1});
    v.matrix()(0, 0) = HUGE_VALF;
    v.matrix()(1, 0) = 3;
    CHECK(mapped_output(std::vector{0.0, 0.5}, std::as_const(v).matrix()) == std::vector<double>{1.5});
}
