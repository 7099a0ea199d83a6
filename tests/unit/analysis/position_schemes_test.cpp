#include "analysis/theory/position_schemes.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/rope_scaling.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::array all_schemes{PositionScheme::none,   PositionScheme::learned, PositionScheme::sinusoidal,
                                 PositionScheme::rotary, PositionScheme::alibi,   PositionScheme::buckets};

PositionRule rule_of(PositionScheme scheme, Index d_k, bool interleaved = false) {
    PositionRule rule{.scheme = scheme, .seed = 3, .interleaved = interleaved};
    rule.frequencies = rotary_frequencies(d_k - d_k % 2, 10'000, {});
    rule.slope = 0.25;
    rule.bucket_biases = drawn_bucket_biases(5, rule.buckets.count);
    return rule;
}

HeadRows rows_of(Index n, Index d_k, Index d_v, std::uint64_t seed, float size = 1) {
    return {random_tensor({1, n, d_k}, seed, size), random_tensor({1, n, d_k}, seed + 1, size),
            random_tensor({1, n, d_v}, seed + 2, size)};
}

std::vector<Index> in_place(Index n, Index shift = 0) {
    std::vector<Index> positions(static_cast<std::size_t>(n));
    std::iota(positions.begin(), positions.end(), shift);
    return positions;
}

std::vector<Index> random_order(Random& random, Index n) {
    std::vector<Index> order = in_place(n);
    for (Index i = n - 1; i > 0; --i)
        std::swap(order[static_cast<std::size_t>(i)],
                  order[static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(i + 1)))]);
    return order;
}

// A random mask, and the same with its rows and columns permuted. Some rows see nothing.
struct MovedMask {
    Mask before, after;
};
MovedMask random_mask(Random& random, const std::vector<Index>& order) {
    const Index n = std::ssize(order);
    PaintedBits before{1, n, n, {}}, after{1, n, n, {}};
    std::vector<std::uint8_t> blind;
    for (Index i = 0; i < n; ++i) blind.push_back(random.below(4) == 0);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
            before.allowed.push_back(!blind[static_cast<std::size_t>(i)] && random.below(3) > 0);
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
            after.allowed.push_back(before.allowed[static_cast<std::size_t>(
                order[static_cast<std::size_t>(i)] * n + order[static_cast<std::size_t>(j)])]);
    return {Mask::painted(before), Mask::painted(after)};
}

PlacedRun run(const PositionRule& rule, const HeadRows& rows, const std::vector<Index>& positions,
              Mask mask = {}) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    auto made = run_placed(default_kernels(), rule, rows, positions, std::move(spec));
    REQUIRE(made);
    return *std::move(made);
}

}  // namespace

TEST_CASE("without positions outputs move along with their tokens, under any mask that moves along") {
    Random random(11);
    for (int round = 0; round < 60; ++round) {
        const Index n = 1 + static_cast<Index>(random.below(24)),
                    d_k = 1 + static_cast<Index>(random.below(40));
        const float size = round % 3 == 0 ? 10.0f : round % 3 == 1 ? 1.0f : 0.01f;
        const HeadRows rows = rows_of(n, d_k, 7, random.bits(), size);
        const std::vector<Index> order = random_order(random, n);
        const MovedMask mask = round % 2 == 0 ? MovedMask{} : random_mask(random, order);
        const PositionRule none{};
        const PlacedRun before = run(none, rows, in_place(n), mask.before),
                        after = run(none, rows.taken(order), in_place(n), mask.after);
        const CarriedError error = carried_error(before, after, order);
        INFO(n << " tokens, d_k " << d_k << ", size " << size);
        CHECK(error.most_f32() <= reorder_rounding(after));
        // The same sums in double, with 2⁻²⁹ times the error.
        CHECK(error.most_f64() <= std::exp2(-29) * reorder_rounding(after));
        for (Index s = 0; s < n; ++s) {
            bool blind = true;
            for (Index j = 0; j < n; ++j) blind = blind && !mask.after.allows(0, s, j);
            for (Index b = 0; blind && b < 7; ++b) {
                CHECK(after.record.output().heads().head(0)(s, b) == 0);
                CHECK(after.outputs[static_cast<std::size_t>(s * 7 + b)] == 0);
            }
        }
    }
}

TEST_CASE("a fixed causal mask, and every scheme, break this by far more than rounding") {
    const Index n = 9, d_k = 16;
    const HeadRows rows = rows_of(n, d_k, 5, 21);
    std::vector<Index> order = in_place(n);
    std::swap(order.front(), order.back());
    for (const PositionScheme scheme : all_schemes)
        for (const bool causal : {false, true}) {
            const PositionRule rule = rule_of(scheme, d_k);
            const Mask mask = causal ? Mask::causal() : Mask();
            const PlacedRun before = run(rule, rows, in_place(n), mask),
                            after = run(rule, rows.taken(order), in_place(n), mask);
            const bool breaks = causal || scheme != PositionScheme::none;
            INFO("scheme " << static_cast<int>(scheme) << (causal ? ", causal" : ""));
            CHECK((carried_error(before, after, order).most_f32() > 1000 * reorder_rounding(after)) ==
                  breaks);
        }
}

TEST_CASE("the kernels' scores and outputs under each scheme match double precision") {
    for (const Index d_k : {1, 2, 7, 64})
        for (const PositionScheme scheme : all_schemes)
            for (const bool interleaved : {false, true})
                for (const Index shift : {0, 17, 1'000'000}) {
                    const Index n = 6;
                    const HeadRows rows = rows_of(n, d_k, 4, 31);
                    const PlacedRun found =
                        run(rule_of(scheme, d_k, interleaved), rows, in_place(n, shift), Mask::causal());
                    const std::vector<float> scores = scores_of(found);
                    INFO("scheme " << static_cast<int>(scheme) << ", d_k " << d_k << ", shift " << shift);
                    // A score is a sum of d_k products of numbers between 1 and 4, each rounded to 2⁻²⁴ three
                    // times, and scaled by 1/√d_k.
                    const double bound = 16 * 3 * std::exp2(-24) * static_cast<double>(d_k);
                    for (std::size_t i = 0; i < scores.size(); ++i)
                        CHECK(std::abs(static_cast<double>(scores[i]) - found.scores[i]) <= bound);
                    for (std::size_t i = 0; i < found.outputs.size(); ++i)
                        CHECK(std::abs(static_cast<double>(found.record.output().values()[i]) -
                                       found.outputs[i]) <= 8 * bound);
                }
}

TEST_CASE(
    "a shift keeps every bit without positions or with distances alone, and RoPE's scores up to rounding") {
    const Index n = 12, d_k = 32;
    const HeadRows rows = rows_of(n, d_k, 4, 41);
    for (const PositionScheme scheme : all_schemes)
        for (const Index shift : {0, 1, 1000, 1'000'000}) {
            const PositionRule rule = rule_of(scheme, d_k);
            const ScoreChange change =
                score_change(run(rule, rows, in_place(n)), run(rule, rows, in_place(n, shift)));
            INFO("scheme " << static_cast<int>(scheme) << ", shift " << shift);
            CHECK(change.all == n * n);
            const bool added = scheme == PositionScheme::learned || scheme == PositionScheme::sinusoidal;
            if (scheme == PositionScheme::rotary) {
                // Angles up to 1e6 radians are rounded to 2⁻³⁴; a score sums 32 products of size up to 10.
                CHECK(change.f64 < 1e-8);
                CHECK(change.f32 < 1e-5);
                CHECK((change.equal < change.all) == (shift > 0));
            } else if (added && shift > 0) {
                CHECK(change.f64 > 0.01);
            } else {
                CHECK(change.equal == change.all);
                CHECK(change.f64 == 0);
            }
        }
}

TEST_CASE("the pairs of components add up to the product of the rotated q and k, in both pairings") {
    for (const bool interleaved : {false, true})
        for (const Index d_k : {2, 8, 9}) {
            PositionRule rule = rule_of(PositionScheme::rotary, d_k, interleaved);
            rule.magnitude = 1.2;
            std::vector<double> q, k;
            Random random(51);
            for (Index a = 0; a < d_k; ++a) q.push_back(random.normal()), k.push_back(random.normal());
            for (const Index p : {0, 3, 5000}) {
                const auto turned_q = placed(rule, q, p), turned_k = placed(rule, k, 40);
                double sum = d_k % 2 == 1 ? q.back() * k.back() : 0, dot = 0;
                for (Index a = 0; a < d_k / 2; ++a) sum += pair_rotation(rule, a, q, p, k, 40).product;
                for (std::size_t a = 0; a < q.size(); ++a) dot += turned_q[a] * turned_k[a];
                CHECK(sum == Catch::Approx(dot).epsilon(1e-11).margin(1e-11));
            }
            // Rotates by complex numbers, whichever components the pairing combines.
            const PairPlace first = pair_place(rule, 0);
            const auto turned = placed(rule, q, 2);
            const double x = q[static_cast<std::size_t>(first.first)],
                         y = q[static_cast<std::size_t>(first.second)];
            CHECK(turned[static_cast<std::size_t>(first.first)] ==
                  Catch::Approx(1.2 * (x * std::cos(2.0) - y * std::sin(2.0))).epsilon(1e-13));
            CHECK(first.second == (interleaved ? 1 : d_k / 2));
        }
}

TEST_CASE("parameters drawn from a seed are the same every time, position by position") {
    CHECK(drawn_table_row(1, 5, 8) == drawn_table_row(1, 5, 8));
    CHECK(drawn_table_row(1, 5, 8) != drawn_table_row(1, 6, 8));
    CHECK(drawn_table_row(1, 5, 8) != drawn_table_row(2, 5, 8));
    CHECK(drawn_bucket_biases(1, 32).size() == 32);
    double sum = 0, squares = 0;
    for (Index p = 0; p < 1000; ++p)
        for (const double x : drawn_table_row(9, p, 10)) sum += x, squares += x * x;
    CHECK(std::abs(sum / 1e4) < 0.04);  // four standard errors of 10,000 standard normal numbers
    CHECK(std::abs(squares / 1e4 - 1) < 0.06);
}

namespace {

// Computes a row of q or k at a position, component by component from the papers' formulas.
double placed_component(PositionScheme scheme, const Tensor& of, Index row, Index position, Index a) {
    const Index d_k = of.dim(2);
    const auto component = [&](Index at) { return static_cast<double>(of.heads().head(0)(row, at)); };
    const auto angle = [&](Index pair_times_two) {
        return static_cast<double>(position) *
               std::pow(10'000.0, -static_cast<double>(pair_times_two) / static_cast<double>(d_k));
    };
    switch (scheme) {
        case PositionScheme::rotary: {
            const Index half = d_k / 2, pair = a % half;
            const double first = component(pair), second = component(pair + half), theta = angle(2 * pair);
            return a < half ? first * std::cos(theta) - second * std::sin(theta)
                            : first * std::sin(theta) + second * std::cos(theta);
        }
        case PositionScheme::learned:
            return component(a) + drawn_table_row(3, position, d_k)[static_cast<std::size_t>(a)];
        case PositionScheme::sinusoidal:
            return component(a) + (a % 2 ? std::cos(angle(a - 1)) : std::sin(angle(a)));
        default: return component(a);
    }
}

double plain_dot(PositionScheme scheme, const HeadRows& rows, Index i, Index at, Index j) {
    double dot = 0;
    for (Index a = 0; a < rows.q.dim(2); ++a)
        dot += placed_component(scheme, rows.q, i, at, a) * placed_component(scheme, rows.k, j, j, a);
    return dot;
}

double plain_bias(const PositionRule& rule, PositionScheme scheme, Index query, Index key) {
    if (scheme == PositionScheme::alibi) return -0.25 * static_cast<double>(std::abs(query - key));
    if (scheme == PositionScheme::buckets)
        return rule.bucket_biases[static_cast<std::size_t>(relative_bucket(rule.buckets, query, key))];
    return 0;
}

}  // namespace

TEST_CASE(
    "different numbers of queries and keys at positions of their own: scores and outputs in f32 and double") {
    Random random(17);
    for (int round = 0; round < 40; ++round)
        for (const PositionScheme scheme : all_schemes) {
            const Index n_q = 1 + static_cast<Index>(random.below(9)),
                        n_k = 1 + static_cast<Index>(random.below(9)),
                        d_k = 2 + 2 * static_cast<Index>(random.below(8)), d_v = 3;
            const HeadRows rows{random_tensor({1, n_q, d_k}, random.bits()),
                                random_tensor({1, n_k, d_k}, random.bits()),
                                random_tensor({1, n_k, d_v}, random.bits())};
            const PositionRule rule = rule_of(scheme, d_k);
            const Index offset = static_cast<Index>(random.below(6));
            const Mask mask = round % 2 ? Mask::causal(offset) : Mask();
            AttentionSpec spec;
            spec.mask = mask;
            const std::vector<Index> order = random_order(random, n_k), same = in_place(n_q);
            const auto found =
                run_placed(default_kernels(), rule, rows, in_place(n_q, offset), in_place(n_k), spec);
            REQUIRE(found);
            CHECK(found->queries() == n_q);
            CHECK(found->keys() == n_k);
            for (Index i = 0; i < n_q; ++i) {
                std::vector<double> scores, exponentials;
                double most = -HUGE_VAL, sum = 0;
                for (Index j = 0; j < n_k; ++j) {
                    const double score = plain_dot(scheme, rows, i, offset + i, j) *
                                             static_cast<double>(found->record.scale()) +
                                         plain_bias(rule, scheme, offset + i, j);
                    const bool seen = mask.allows(0, i, j);
                    CHECK(found->scores[static_cast<std::size_t>(i * n_k + j)] ==
                          Catch::Approx(score).margin(1e-9));
                    scores.push_back(seen ? score : -HUGE_VAL);
                    most = std::max(most, scores.back());
                }
                for (const double score : scores)
                    sum += exponentials.emplace_back(std::isfinite(score) ? std::exp(score - most) : 0);
                for (Index b = 0; b < d_v; ++b) {
                    double output = 0;
                    for (Index j = 0; sum > 0 && j < n_k; ++j)
                        output += exponentials[static_cast<std::size_t>(j)] / sum *
                                  static_cast<double>(rows.v.heads().head(0)(j, b));
                    CHECK(found->outputs[static_cast<std::size_t>(i * d_v + b)] ==
                          Catch::Approx(output).margin(1e-9));
                    CHECK(static_cast<double>(found->record.output().heads().head(0)(i, b)) ==
                          Catch::Approx(output).margin(2e-4));
                }
            }
            // Permuting the keys with their positions, or keys without positions, leaves the outputs
            // unchanged.
            if (round % 2) continue;
            std::vector<Index> positions;
            for (const Index key : order) positions.push_back(key);
            const auto moved = run_placed(default_kernels(), rule, rows.taken(same, order),
                                          in_place(n_q, offset), positions, {});
            REQUIRE(moved);
            const CarriedError error = carried_error(*found, *moved, same);
            CHECK(error.most_f32() <= reorder_rounding(*moved));
            CHECK(error.most_f64() <= 1e-12);
        }
}
