#include "analysis/theory/scaled_rows.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <numeric>

#include "analysis/linalg/moments.hpp"
#include "analysis/theory/sampled_products.hpp"
#include "tensor/random.hpp"

using namespace attn;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

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
        DotProducts products(d, sampled_pairs, 7);
        finish(products);
        REQUIRE(std::ssize(products.values()) == sampled_pairs);
        const Moments moments = moments_of(products.values());
        // The relative standard error of a variance over n draws is √((κ − 1) / n), where such sums have a
        // kurtosis κ = 3 + 6 / d; four of them are allowed.
        const double error = std::sqrt((2 + 6 / static_cast<double>(d)) / static_cast<double>(sampled_pairs));
        INFO("d " << d);
        CHECK(std::abs(moments.variance / static_cast<double>(d) - 1) < 4 * error);
        CHECK(std::abs(moments.mean) <
              4 * std::sqrt(static_cast<double>(d) / static_cast<double>(sampled_pairs)));
    }
    DotProducts again(64, 10, 7), other(64, 10, 8);
    finish(again);
    finish(other);
    CHECK(again.values() != other.values());
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
    CHECK(pairs.count() == sampled_pairs);
    for (Index i = 0; i < pairs.count(); ++i) {
        const auto pair = pairs.at(i);
        REQUIRE(pair);
        CHECK(pair->query == i * n / sampled_pairs);
        CHECK(pair->key < n);
    }
}

TEST_CASE("the histogram expects as many pairs in a bin as the density says") {
    for (const Index d : {1, 2, 64, 4096}) {
        DotProducts products(d, sampled_pairs, 3);
        finish(products);
        const ProductHistogram all(products);
        INFO("d " << d);
        CHECK_THAT(std::accumulate(all.expected.begin(), all.expected.end(), 0.0),
                   WithinRel(static_cast<double>(sampled_pairs), 1e-12));
        CHECK(std::accumulate(all.counts.begin(), all.counts.end(), Index{0}) == sampled_pairs);
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
