#include "lenses/scale/scale.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <numeric>

#include "analysis/linalg/moments.hpp"
#include "analysis/theory/dot_products.hpp"
#include "app/link.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

ScaleLens& scale_in(const Screen& screen) { return static_cast<ScaleLens&>(screen.visit.lens()); }

void finish(auto& job) {
    while (job.step()) continue;
}

// A head with these q and k, row by row.
RowOfHead head_of(Index queries, Index keys, Index d, std::vector<float> q, std::vector<float> k,
                  Mask mask = {}) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    auto record =
        Record::run(Tensor({1, queries, d}, q), Tensor({1, keys, d}, k), Tensor({1, keys, 1}), spec);
    REQUIRE(record);
    return {std::make_shared<const Record>(std::move(*record))};
}

std::vector<float> normal_numbers(std::uint64_t seed, Index count, float size = 1) {
    Random random(seed);
    std::vector<float> numbers;
    for (Index i = 0; i < count; ++i) numbers.push_back(size * static_cast<float>(random.normal()));
    return numbers;
}

}  // namespace

TEST_CASE("the variance of q · k of normal vectors is the number of their components") {
    for (const Index d : {1, 4, 64, 1024}) {
        DotProducts products(d, scale_pairs, 7);
        finish(products);
        REQUIRE(std::ssize(products.values()) == scale_pairs);
        const Moments moments = moments_of(products.values());
        // The relative standard error of a variance over n draws is √((κ − 1) / n), where such sums have a
        // kurtosis κ = 3 + 6 / d; four of them are allowed.
        const double error = std::sqrt((2 + 6 / static_cast<double>(d)) / static_cast<double>(scale_pairs));
        INFO("d " << d);
        CHECK(std::abs(moments.variance / static_cast<double>(d) - 1) < 4 * error);
        CHECK(std::abs(moments.mean) <
              4 * std::sqrt(static_cast<double>(d) / static_cast<double>(scale_pairs)));
    }
    DotProducts again(64, 10, 7), other(64, 10, 8);
    finish(again);
    finish(other);
    CHECK(again.values() != other.values());
}

TEST_CASE("for a head, all of its components give its raw scores, and the first ones their part") {
    Screen screen;
    screen.open_sentence();
    const auto record = sentence_in(screen.visit).run()->record(1);
    DotProducts all(HeadPairs(record, 2), 4096);
    finish(all);
    std::vector<float> expected, first;
    for (Index i = 0; i < record->queries(); ++i)
        for (Index j = 0; j <= i; ++j) {
            expected.push_back(record->cell(Stage::raw, 2, i, j));
            first.push_back(record->q().heads().head(2)(i, 0) * record->k().heads().head(2)(j, 0));
        }
    REQUIRE(all.values().size() == expected.size());
    CHECK(all.components() == record->d_k());
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(all.values()[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    DotProducts one(HeadPairs(record, 2), 1);
    finish(one);
    for (std::size_t i = 0; i < first.size(); ++i)
        CHECK(one.values()[i] == Catch::Approx(first[i]).margin(1e-6));
    DotProducts some(HeadPairs(record, 2, 5), 1);
    finish(some);
    CHECK(some.values().size() <= 5);
}

TEST_CASE("given scores and weights have no q and k, and the lens says so") {
    Screen screen;
    screen.visit.perform(OpenLens{"scale"});
    screen.visit.perform(SetScale{{.vectors = ScaleVectors::head}});
    screen.settle();
    CHECK_FALSE(screen.shows("scale/without"));
    CHECK(scale_in(screen).variances(subject_in(screen.visit)));
    screen.visit.perform(SetSource{Source::scores});
    screen.settle();
    CHECK(screen.shows("scale/without"));
    CHECK_FALSE(scale_in(screen).variances(subject_in(screen.visit)));
    CHECK(scale_in(screen).without_vectors(subject_in(screen.visit)) ==
          "No head’s q and k can be shown here, because its scores are given.");
    // The seeded vectors are shown instead.
    CHECK(scale_in(screen).products(subject_in(screen.visit)).components() == ScaleState{}.components);
    screen.click("scale/vectors/of this head");
    CHECK_FALSE(scale_in(screen).variances(subject_in(screen.visit)));
}

TEST_CASE("every value is counted in one bin, and scores that are not finite in none") {
    const std::vector<float> values{-5, -1, -0.999f, 0, 0.5f, 0.999f, 1, 70};
    CHECK(bins_of(values, 1, 4) == std::vector<Index>{3, 0, 1, 4});
    const RowOfHead head = head_of(1, 4, 1, {1}, {2, std::nanf(""), INFINITY, -3});
    DotProducts products(HeadPairs(head.record, 0), 1);
    finish(products);
    CHECK(products.values() == std::vector<float>{2, -3});
    CHECK(products.odd() == 2);
    ComponentVariances variances(HeadPairs(head.record, 0));
    finish(variances);
    CHECK(variances.counted() == 2);
    CHECK(variances.own(0) == 6.25);
}

TEST_CASE("the strongest keys come first, whatever comes after them") {
    const std::vector<float> scores = normal_numbers(4, 500, 40);
    const RowOfHead head = head_of(1, 500, 1, {1}, scores);
    const RuledRow rule(head, "", 1);
    const std::vector<Index> first = strongest_keys(rule, 8), all = strongest_keys(rule, 500);
    REQUIRE(first.size() == 500);
    CHECK(std::equal(first.begin(), first.begin() + 8, all.begin()));
    CHECK(std::ranges::is_sorted(all, std::ranges::greater(),
                                 [&](Index key) { return scores[static_cast<std::size_t>(key)]; }));
    CHECK(std::ranges::is_permutation(first, all));
}

TEST_CASE("the pairs of a large head are spread over it") {
    constexpr Index n = 60'000;  // more pairs than 32 bits can count
    auto record = Record::prepare(Tensor({1, n, 1}), Tensor({1, n, 1}), Tensor({1, n, 0}), {});
    REQUIRE(record);
    const HeadPairs pairs(std::make_shared<const Record>(std::move(*record)), 0);
    CHECK(pairs.count() == scale_pairs);
    for (Index i = 0; i < pairs.count(); ++i) {
        const auto pair = pairs.at(i);
        REQUIRE(pair);
        CHECK(pair->query == i * n / scale_pairs);
        CHECK(pair->key < n);
    }
}

TEST_CASE("the histogram expects as many pairs in a bin as the density says") {
    for (const Index d : {1, 2, 64, 4096}) {
        DotProducts products(d, scale_pairs, 3);
        finish(products);
        const ScaleHistogram all(products, false);
        INFO("d " << d);
        CHECK_THAT(std::accumulate(all.expected.begin(), all.expected.end(), 0.0),
                   WithinRel(static_cast<double>(scale_pairs), 1e-12));
        CHECK(std::accumulate(all.counts.begin(), all.counts.end(), Index{0}) == scale_pairs);
        double chi_squared = 0;
        Index bins = 0;
        for (std::size_t bin = 0; bin < all.counts.size(); ++bin) {
            if (all.expected[bin] < 5) continue;
            const double off = static_cast<double>(all.counts[bin]) - all.expected[bin];
            chi_squared += off * off / all.expected[bin];
            ++bins;
        }
        // χ² of n bins is n ± √(2n); four of these are allowed.
        const auto n = static_cast<double>(bins);
        CHECK(chi_squared < n + 4 * std::sqrt(2 * n));
        CHECK_THAT(all.expected.front(), WithinRel(all.expected.back(), 1e-9));
    }
}

TEST_CASE("the rules' rows are the softmax of the scaled scores, with masked and fully masked rows") {
    for (const std::uint64_t seed : {1, 2, 3})
        for (const float size : {0.01f, 1.0f, 30.0f}) {
            constexpr Index n = 12, d = 9;
            RowOfHead head = head_of(n, n, d, normal_numbers(seed, n * d, size),
                                     normal_numbers(seed + 9, n * d, size), Mask::causal(-1));
            for (head.query = 0; head.query < n; ++head.query) {
                const RuledRow as_it_is(head, "as it is", static_cast<double>(head.record->scale()));
                CHECK(as_it_is.weights == head.record->weights(0, head.query));
                for (const double scale : {1e-4, 1.0, 2.0 / 3, 10.0}) {
                    const RuledRow rule(head, "a rule", scale);
                    std::vector<double> scores;
                    for (Index key = 0; key < head.query; ++key) {
                        double score = 0;
                        for (Index a = 0; a < d; ++a)
                            score += static_cast<double>(head.record->q().heads().head(0)(head.query, a)) *
                                     static_cast<double>(head.record->k().heads().head(0)(key, a));
                        scores.push_back(score);
                    }
                    const std::vector<double> expected = softmax(scores, scale);
                    REQUIRE(strongest_keys(rule, n).size() == scores.size());
                    double largest = 0;
                    for (const double score : scores) largest = std::max(largest, std::abs(score) * scale);
                    for (Index key = 0; key < n; ++key) {
                        const auto at = static_cast<std::size_t>(key);
                        const double weight = key < head.query ? expected[at] : 0;
                        CHECK_THAT(rule.exact[at], WithinAbs(weight, 1e-13 * (1 + largest)));
                        // A score of size s is rounded by about s · d · 2⁻²⁴, and so is the exponent.
                        CHECK_THAT(static_cast<double>(rule.weights[at]),
                                   WithinAbs(weight, 2e-6 + 1e-6 * largest * weight));
                    }
                }
            }
        }
    RowOfHead nothing = head_of(2, 2, 1, {1, 1}, {3, 4}, Mask::causal(-1));
    const RuledRow masked(nothing, "masked", 1);
    CHECK(masked.weights == std::vector<float>{0, 0});
    CHECK(masked.exact_saturation.entropy == 0);
    CHECK(strongest_keys(masked, 2).empty());
    RowOfHead odd = head_of(1, 2, 1, {1}, {std::nanf(""), 4});
    CHECK(std::isnan(RuledRow(odd, "NaN", 1).exact_saturation.entropy));
    CHECK(strongest_keys(RuledRow(odd, "NaN", 1), 2) == std::vector<Index>{1, 0});
}

TEST_CASE("the curves cover the rows of their seeds, starting with the shown one") {
    constexpr Index keys = 5;
    ScaleCurves curves(11, keys, 0.3);
    finish(curves);
    REQUIRE(curves.done());
    for (std::size_t p = 0; p < ScaleCurves::points().size(); p += 5) {
        const Index d = ScaleCurves::points()[p];
        for (const Index seed : {Index{0}, ScaleCurves::seeds - 1}) {
            const RowOfHead row = seeded_row(static_cast<std::uint32_t>(11 + seed), keys, d);
            for (std::size_t r = 0; r < scale_rules; ++r) {
                const RuledRow rule(row, "", scale_of(r, d, 0.3));
                INFO("d " << d << ", rule " << r);
                // The rule's scale is a float, so its scores of size √d differ by 2⁻²⁴ of that.
                for (const RowMeasure m : {RowMeasure::entropy, RowMeasure::largest, RowMeasure::gradient})
                    CHECK_THAT(curves.value(m, r, p, seed),
                               WithinAbs(measured(rule.exact_saturation, m), 1e-5));
            }
        }
    }
    const auto at = [&](RowMeasure m, std::size_t rule, Index d) {
        const auto found = std::ranges::find(ScaleCurves::points(), d);
        return curves.over_seeds(m, rule, static_cast<std::size_t>(found - ScaleCurves::points().begin()));
    };
    // The point of the lens, for 32 rows of 5 keys.
    CHECK(at(RowMeasure::largest, 0, 4096).mean > 0.95);
    CHECK(at(RowMeasure::gradient, 0, 4096).mean < 0.05);
    CHECK(at(RowMeasure::largest, 1, 4096).mean < 0.7);
    CHECK(at(RowMeasure::entropy, 2, 4096).low > 0.999 * std::log(5.0));
    // 160 scores: the relative standard error of their mean square is √(2/160) at large d.
    CHECK_THAT(at(RowMeasure::variance, 1, 4096).mean, WithinAbs(1, 4 * std::sqrt(2.0 / 160)));
    CHECK_THAT(at(RowMeasure::variance, 0, 4096).mean,
               WithinRel(4096 * at(RowMeasure::variance, 1, 4096).mean, 1e-12));
    for (const RowMeasure m : {RowMeasure::entropy, RowMeasure::largest, RowMeasure::gradient})
        for (std::size_t r = 0; r < scale_rules; ++r) {
            const auto spread = at(m, r, 64);
            Index below = 0, above = 0;
            double sum = 0;
            for (Index seed = 0; seed < ScaleCurves::seeds; ++seed) {
                const double value = curves.value(m, r, 11, seed);
                below += value < spread.low;
                above += value > spread.high;
                sum += value / static_cast<double>(ScaleCurves::seeds);
            }
            CHECK(below == 3);
            CHECK(above == 3);
            CHECK_THAT(spread.mean, WithinAbs(sum, 1e-14));
        }
    ScaleCurves other(11, keys, 7);
    other.step();
    finish(other);
    other.use(0.3);
    CHECK(other.over_seeds(RowMeasure::entropy, 3, 9).mean ==
          curves.over_seeds(RowMeasure::entropy, 3, 9).mean);
}

TEST_CASE("the variance of a head's scores is that of its components plus their covariances") {
    constexpr Index n = 20, d = 7;
    const RowOfHead head = head_of(n, n, d, normal_numbers(1, n * d), normal_numbers(2, n * d));
    ComponentVariances variances(HeadPairs(head.record, 0));
    finish(variances);
    CHECK(variances.counted() == n * n);
    std::vector<double> sums(static_cast<std::size_t>(n * n), 0.0);
    for (Index a = 0; a < d; ++a) {
        std::vector<double> products;
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) {
                products.push_back(static_cast<double>(head.record->q().heads().head(0)(i, a)) *
                                   static_cast<double>(head.record->k().heads().head(0)(j, a)));
                sums[static_cast<std::size_t>(i * n + j)] += products.back();
            }
        CHECK_THAT(variances.own(a),
                   WithinRel(moments_of(std::span<const double>(products)).variance, 1e-12));
        CHECK_THAT(variances.of_first(a + 1),
                   WithinRel(moments_of(std::span<const double>(sums)).variance, 1e-12));
    }
}

TEST_CASE("Scale works for every subject, describes what it shows, and is in the link") {
    Screen screen;
    for (const SubjectEntry& subject : subject_list()) {
        screen.visit.perform(OpenSubject{subject.key});
        screen.visit.perform(OpenLens{"scale"});
        screen.settle();
        if (subject_in(screen.visit).attention()) CHECK(screen.shows("chart/products"));
    }
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    CHECK(screen.visit.state().lens == "scale");
    CHECK(scale_in(screen)
              .spoken(subject_in(screen.visit))
              .starts_with("Divided by √64, q · k of seeded vectors spreads by ± "));
    CHECK(screen.shows("chart/entropy"));
    screen.click("scale/vectors/of this head");
    screen.settle();
    // The example has 4 components, and 9 pairs.
    CHECK(scale_in(screen).products(subject_in(screen.visit)).values().size() == 9);
    CHECK(scale_in(screen).spoken(subject_in(screen.visit)).starts_with("Over 4 components"));
    CHECK(screen.shows("chart/components"));
    CHECK_FALSE(screen.shows("chart/entropy"));
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=scale&scale.d=64,head");
    CHECK(parse_fragment("v=1&lens=scale&scale.d=64,head").state == screen.visit.state());
    screen.visit.undo();
    CHECK(screen.visit.state().of<ScaleState>() == ScaleState{});
    for (const ScalePreset& preset : scale_presets()) {
        const ScaleState expected = preset.from(screen.visit.state().of<ScaleState>());
        screen.click("scale/preset/" + std::string(preset.title));
        CHECK(screen.visit.state().of<ScaleState>() == expected);
        CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    }
    screen.visit.perform(SetScale{{.seed = 9, .row = ScaleRow::two, .keys = 17, .own = 0.1}});
    CHECK(to_fragment(screen.visit.state()) ==
          "v=1&lens=scale&scale.d=64,normal,9&scale.row=2,17&scale.own=0.1");
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    CHECK(refusal(default_state(), SetScale{{.components = 0}}) ==
          "The number of components must be from 1 to 4,096.");
    CHECK(refusal(default_state(), SetScale{{.keys = 65}}) == "The number of keys must be from 2 to 64.");
    CHECK(refusal(default_state(), SetScale{{.own = NAN}}) ==
          "The scale of your own must be from 0.0001 to 10.");
    for (const char* bad :
         {"scale.d=5000", "scale.row=3", "scale.row=seeded,1", "scale.own=-1", "scale.own="})
        CHECK_FALSE(parse_fragment(std::string("v=1&") + bad).note.empty());
}

TEST_CASE("a row of many keys comes scale by scale, and a head with NaN keeps the view") {
    Screen screen;
    const auto drop = [&](const Shape& q, const Shape& k, float odd) {
        Tensor keys = random_tensor(k, 2);
        keys.data()[0] = odd;
        put(screen.visit, {{"q.npy", normal_npy(q, 1)}, {"k.npy", write_npy(k, keys.values())}});
        screen.settle();
    };
    screen.visit.perform(OpenSubject{tensors_subject});
    screen.visit.perform(OpenLens{"scale"});
    screen.visit.perform(SetScale{{.vectors = ScaleVectors::head, .own = 0.5}});
    drop({2, 64}, {6000, 64}, 1);
    REQUIRE(subject_in(screen.visit).attention());
    screen.visit.perform(Select{{0, 0, 0, {}, {}}});
    screen.draw();
    CHECK(scale_in(screen).rules(subject_in(screen.visit)).size() < scale_rules);
    CHECK_FALSE(scale_in(screen).tables(subject_in(screen.visit)).empty());
    CHECK_FALSE(why(screen.visit, scale_cells::weight(3, 0)));
    screen.settle();
    const auto& rules = scale_in(screen).rules(subject_in(screen.visit));
    REQUIRE(rules.size() == scale_rules);
    CHECK(rules[3].record.scale() == 0.5f);
    for (const RuledRow& rule : rules)
        CHECK_THAT(std::accumulate(rule.exact.begin(), rule.exact.end(), 0.0), WithinAbs(1, 1e-12));
    CHECK(screen.shows("scale/row/3/7"));

    drop({3, 2}, {3, 2}, std::nanf(""));
    CHECK(scale_in(screen).products(subject_in(screen.visit)).odd() == 3);
    CHECK(screen.shows("chart/products"));
    CHECK(screen.shows("scale/row/0/0"));
}

TEST_CASE("each number of Scale explains itself, and numbers that do not exist say nothing") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenLens{"scale"});
    // Every number of a kind, and none beyond it.
    const auto check = [&](const CellKind& kind, std::array<Index, 3> sizes) {
        for (Index i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
            const CellRef cell{
                .stage = Stage::lens,
                .own = {&kind, {i / sizes[2] / sizes[1], i / sizes[2] % sizes[1], i % sizes[2]}}};
            const auto told = why(screen.visit, cell);
            INFO(write_cell(cell));
            REQUIRE(told);
            CHECK_FALSE(told->title.empty());
            CHECK(std::isfinite(told->f64));
            CHECK_THAT(told->f32, WithinAbs(told->f64, 1e-5 * (1 + std::abs(told->f64))));
            check_calculated(*told);
        }
        for (std::size_t axis = 0; axis < kind.rank(); ++axis)
            for (const Index beyond : {sizes[axis], position_limit}) {
                CellRef cell{.stage = Stage::lens, .own = {&kind}};
                cell.own.at[axis] = beyond;
                CHECK_FALSE(why(screen.visit, cell));
            }
    };
    for (const ScaleRow rows : {ScaleRow::seeded, ScaleRow::hundred, ScaleRow::ninety}) {
        screen.visit.perform(SetScale{{.components = 40, .row = rows, .keys = 6}});
        screen.settle();
        const Index keys = std::ssize(scale_in(screen).rules(subject_in(screen.visit)).front().weights);
        check(scale_cells::histogram, {ScaleHistogram::bins, 1, 1});
        check(scale_cells::weight, {4, keys, 1});
        check(scale_cells::measure, {3, 4, 1});
        check(scale_cells::curve, {4, 4, std::ssize(ScaleCurves::points())});
        CHECK_FALSE(why(screen.visit, scale_cells::component_variance(0)));
        CHECK_FALSE(why(screen.visit, scale_cells::cumulative_variance(1)));
    }
    screen.visit.perform(SetScale{{.row = ScaleRow::two}});
    const auto printed = why(screen.visit, scale_cells::weight(0, 0));
    REQUIRE(printed);
    CHECK(printed->note == "“Attention: The Heart of Transformers” prints 0.5; exact is 0.599021.");

    screen.visit.perform(Select{{1, 2, 4, {}, {}}});
    screen.visit.perform(SetScale{{.vectors = ScaleVectors::head}});
    screen.settle();
    const auto record = sentence_in(screen.visit).run()->record(1);
    check(scale_cells::histogram, {ScaleHistogram::bins, 1, 1});
    check(scale_cells::weight, {4, record->keys(), 1});
    check(scale_cells::measure, {3, 4, 1});
    check(scale_cells::component_variance, {record->d_k(), 1, 1});
    for (Index components = 1; components <= record->d_k(); ++components) {
        const auto told = why(screen.visit, scale_cells::cumulative_variance(components));
        REQUIRE(told);
        CHECK_THAT(told->f32, WithinAbs(told->f64, 1e-5 * (1 + told->f64)));
        check_calculated(*told);
    }
    for (const Index none : {Index{0}, record->d_k() + 1})
        CHECK_FALSE(why(screen.visit, scale_cells::cumulative_variance(none)));
    CHECK_FALSE(why(screen.visit, scale_cells::curve(0, 0, 0)));
    // Without a scale, the weight of key 1 is that of the raw scores, and its terms lead on to q and k.
    const auto weight = why(screen.visit, scale_cells::weight(1, 1));
    double sum = 0;
    for (Index key = 0; key <= 4; ++key)
        sum += std::exp(static_cast<double>(record->cell(Stage::raw, 2, 4, key)));
    CHECK_THAT(weight->f64,
               WithinAbs(std::exp(static_cast<double>(record->cell(Stage::raw, 2, 4, 1))) / sum, 1e-6));
    CHECK(weight->operands.front().left_at == CellPlace{{1, 2}, {Stage::q, 4, 0}});
    CHECK(weight->operands.front().right_at == CellPlace{{1, 2}, {Stage::k, 1, 0}});
}

TEST_CASE("the pictures of Scale have tables of what they show, and a click pins its number") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    screen.visit.perform(OpenLens{"scale"});
    screen.settle();
    const auto table = [&](std::string_view title) { return table_of(screen, title); };
    const auto& rules = scale_in(screen).rules(subject_in(screen.visit));
    const Table weights = table("Weights"), products = table("q · k of 2,048 pairs");
    CHECK(weights.values.at(3, 1) == rules[1].exact[3]);
    CHECK(table("Saturation").values.at(2, 1) == rules[2].exact_saturation.largest);
    CHECK(products.columns == std::vector<std::string>{"counted", "exact", "normal limit"});
    double pairs = 0;
    for (Index bin = 0; bin < ScaleHistogram::bins; ++bin) pairs += products.values.at(bin, 0);
    CHECK(pairs == static_cast<double>(scale_pairs));
    for (const char* title : {"Entropy", "Largest weight", "Gradient that passes"})
        CHECK(table(title).values.rows == std::ssize(ScaleCurves::points()));
    screen.click("scale/row/1/3");
    CHECK(screen.visit.state().pin == scale_cells::weight(1, 3));
    screen.click("scale/measure/2/1");
    CHECK(screen.visit.state().pin == scale_cells::measure(RowMeasure::largest, 2));
    screen.click("chart/products");
    CHECK(screen.visit.state().pin == scale_cells::histogram(20));
    screen.visit.perform(SetScale{{.vectors = ScaleVectors::head}});
    screen.settle();
    CHECK(table("Variance over the first components").values.rows ==
          subject_in(screen.visit).attention()->record(0)->d_k());
    table("Variance of each component’s product");
    screen.click("scale/row/0/3");
    CHECK(screen.visit.state().pin == CellRef{Stage::weight, 5, 3});
}
