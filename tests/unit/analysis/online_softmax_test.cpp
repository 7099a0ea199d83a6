// Compares the walk over tiles with the two-pass softmax of attention/explain.hpp in double, with the
// record's own output, and with the invariants after every tile.
#include "analysis/theory/online_softmax.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "attention/explain.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

struct Case {
    const char* name;
    Index heads, kv_heads, queries, keys, d_k, d_v;
    float deviation = 1;  // standard deviation for q and k
    AttentionSpec spec = {};
};

AttentionSpec masked(Mask mask) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    return spec;
}

std::vector<Case> cases() {
    AttentionSpec capped = masked(Mask::causal());
    capped.softcap = 5;
    AttentionSpec hot;
    hot.scale = 3;
    AttentionSpec biased = masked(Mask::window(3, 2));
    biased.bias = {std::make_shared<const Tensor>(random_tensor({2, 9, 11}, 5))};
    PaintedBits bits{1, 9, 11, std::vector<std::uint8_t>(99)};
    for (std::size_t i = 0; i < bits.allowed.size(); ++i) bits.allowed[i] = i % 3 == 0 || i > 80;
    return {{"plain", 1, 1, 7, 13, 4, 3},
            {"grouped heads, causal", 4, 2, 12, 12, 8, 5, 1, masked(Mask::causal())},
            {"causal with a past", 2, 1, 5, 21, 8, 8, 1, masked(Mask::causal(16))},
            {"rows that see nothing", 1, 1, 9, 9, 4, 4, 1, masked(Mask::causal(-4))},
            {"a window with a bias", 2, 2, 9, 11, 4, 2, 1, biased},
            {"painted", 1, 1, 9, 11, 4, 2, 1, masked(Mask::painted(bits))},
            {"a soft cap", 2, 2, 20, 20, 16, 4, 2, capped},
            {"large scores", 1, 1, 30, 70, 16, 4, 6, hot},
            {"no values", 1, 1, 4, 6, 4, 0}};
}

std::shared_ptr<const Record> record_of(const Case& c) {
    auto record = Record::run(random_tensor({c.heads, c.queries, c.d_k}, 1, c.deviation),
                              random_tensor({c.kv_heads, c.keys, c.d_k}, 2, c.deviation),
                              random_tensor({c.kv_heads, c.keys, c.d_v}, 3), c.spec);
    REQUIRE(record);
    return std::make_shared<const Record>(*std::move(record));
}

std::vector<double> masked_scores(const RowChain& chain, Index keys) {
    std::vector<double> scores;
    for (Index key = 0; key < keys; ++key) scores.push_back(chain.at(key).masked);
    return scores;
}

bool near(double actual, double expected, double tolerance) {
    return actual == expected || (std::isnan(actual) && std::isnan(expected)) ||
           std::abs(actual - expected) <= tolerance;
}

constexpr double unit = 0x1p-24;  // a rounding in f32

// Bounds the error of a score in f32: its products and sums, and the steps after them.
double score_error(const Record& record, Index head, Index query, Index key) {
    double size = 0;
    for (const Term& term : dot_terms(record, head, query, key)) size += std::abs(term.product());
    const double scale = static_cast<double>(record.scale());
    return (static_cast<double>(record.d_k()) + 8) * unit * (size * scale + 8);
}

}  // namespace

TEST_CASE("after every tile, a row has the maximum, the sum and the output of the keys so far") {
    for (const Case& c : cases())
        for (const Index keys_a_tile : {1, 2, 5, 64}) {
            INFO(c.name << ", tiles of " << keys_a_tile);
            const auto record = record_of(c);
            for (Index head = 0; head < c.heads; ++head)
                for (Index query = 0; query < c.queries; ++query) {
                    const auto scores = masked_scores(row_chain(*record, head, query), c.keys);
                    const ConstMatrix values = record->v().heads().head(record->kv_head(head));
                    const OnlineRow<double> row = exact_walk(*record, head, query, keys_a_tile);
                    REQUIRE(row.tiles() == (c.keys + keys_a_tile - 1) / keys_a_tile);
                    CHECK(row.scores() == scores);
                    double max = -HUGE_VAL;
                    for (Index tile = 0; tile < row.tiles(); ++tile) {
                        const Index seen = std::min((tile + 1) * keys_a_tile, c.keys);
                        for (Index j = tile * keys_a_tile; j < seen; ++j)
                            max = std::max(max, scores[static_cast<std::size_t>(j)]);
                        // Sums over all keys so far; only the order differs, in double.
                        double sum = 0;
                        std::vector<double> output(static_cast<std::size_t>(c.d_v));
                        for (Index j = 0; j < seen && max > -HUGE_VAL; ++j) {
                            const double weight = std::exp(scores[static_cast<std::size_t>(j)] - max);
                            sum += weight;
                            for (Index b = 0; b < c.d_v; ++b)
                                output[static_cast<std::size_t>(b)] +=
                                    weight * static_cast<double>(values(j, b));
                        }
                        const RunningRow<double>& after = row.step(tile).after;
                        CHECK(after.max == max);
                        CHECK(near(after.sum, sum, 1e-13 * std::max(sum, 1.0)));
                        for (std::size_t b = 0; b < output.size(); ++b)
                            CHECK(near(after.output[b], output[b], 1e-13 * std::max(5 * sum, 1.0)));
                    }
                }
        }
}

TEST_CASE(
    "the walk in f32 ends at the output of the record, of naive attention and of the double reference") {
    for (const Case& c : cases())
        for (const Index keys_a_tile : {1, 2, 5, 64}) {
            INFO(c.name << ", tiles of " << keys_a_tile);
            const auto record = record_of(c);
            for (Index head = 0; head < c.heads; ++head) {
                OnlineWalk walk(record, head, {0, c.queries}, keys_a_tile);
                while (walk.step()) continue;
                for (Index query = 0; query < c.queries; ++query) {
                    const OnlineRow<float>& row = walk.row(query);
                    const auto result = row.result(row.tiles() - 1);
                    const auto all = row.scores();
                    const NaiveRow<float> naive(all, walk.values());
                    const NaiveRow<double> naive64(masked_scores(row_chain(*record, head, query), c.keys),
                                                   walk.values());
                    REQUIRE(std::ssize(result) == c.d_v);
                    // The relative change of a weight is the error of its score, and each key and tile adds
                    // roundings.
                    double off = 0;
                    for (Index key = 0; key < c.keys; ++key)
                        off = std::max(off, score_error(*record, head, query, key));
                    const double relative =
                        2 * off + static_cast<double>(2 * c.keys + 3 * row.tiles() + 8) * unit;
                    for (Index b = 0; b < c.d_v; ++b) {
                        const auto at = static_cast<std::size_t>(b);
                        const CellExplanation why = explain_output(*record, head, query, b);
                        double size = 0;
                        for (const Term& term : why.terms) size += std::abs(term.product());
                        const double bound = relative * size;
                        CHECK(near(static_cast<double>(result[at]), why.f64, bound));
                        CHECK(near(static_cast<double>(result[at]), static_cast<double>(why.f32), 2 * bound));
                        CHECK(near(static_cast<double>(result[at]), static_cast<double>(naive.output[at]),
                                   bound));
                        CHECK(near(naive64.output[at], why.f64, 1e-13 * size));
                    }
                    // The record's two numbers for the row, from the same scores.
                    const RunningRow<float>& end = row.before(row.tiles());
                    CHECK(near(static_cast<double>(end.max),
                               static_cast<double>(record->row_max().matrix()(head, query)), off));
                    if (end.sum > 0)
                        CHECK(near(std::log(static_cast<double>(end.sum)),
                                   static_cast<double>(record->row_log_sum().matrix()(head, query)),
                                   1e-5 + 2 * off));
                    else
                        CHECK(largest_magnitude(result) == 0);
                }
            }
        }
}

TEST_CASE("the factor is 1 if the maximum stays, and rescaled numbers have the new maximum") {
    OnlineRow<double> row(1);
    const std::vector<float> stored{1, 2, 3, 4};
    const auto tile = [&](Index key) { return ConstMatrix{stored.data() + key, 1, 1, 1}; };
    row.add(std::vector<double>{2}, tile(0));
    row.add(std::vector<double>{1}, tile(1));
    row.add(std::vector<double>{5}, tile(2));
    row.skip(1);
    CHECK(row.step(0).factor == 0);  // nothing had been added before
    CHECK(row.step(1).factor == 1);
    CHECK(row.step(2).factor == std::exp(-3.0));
    CHECK(row.step(3).factor == 1);
    CHECK(row.before(0).max == -HUGE_VAL);
    CHECK(row.before(2).sum == 1 + std::exp(-1.0));
    CHECK(row.step(2).after.sum == Catch::Approx(1 + std::exp(-3.0) + std::exp(-4.0)).epsilon(1e-15));
    CHECK(row.step(3).after.sum == row.step(2).after.sum);
    CHECK(
        row.result(3)[0] ==
        Catch::Approx((3 + std::exp(-3.0) * 1 + std::exp(-4.0) * 2) / row.step(3).after.sum).epsilon(1e-15));
}

TEST_CASE("infinite and NaN scores and values have the results that the record defines") {
    struct Odd {
        std::vector<float> scores, values;
        double expected;
    };
    const std::vector<Odd> odd{{{1, infinity, infinity, 0}, {9, 3, 5, infinity}, 4},
                               {{infinity, 1, 2, infinity}, {3, infinity, -infinity, 5}, 4},
                               {{-infinity, -infinity, -infinity, -infinity}, {infinity, 1, 1, 1}, 0},
                               {{-infinity, 2, -infinity, -infinity}, {not_a_number, 7, infinity, 1}, 7},
                               {{-200, 200, 1, 1}, {infinity, 7, 1, 1}, 7},
                               {{1, not_a_number, 2, 3}, {1, 2, 3, 4}, std::nan("")}};
    for (const Odd& each : odd)
        for (const Index keys_a_tile : {1, 2, 3, 4}) {
            OnlineRow<float> row(1);
            for (Index begin = 0; begin < 4; begin += keys_a_tile) {
                const Index count = std::min(keys_a_tile, 4 - begin);
                row.add(std::span(each.scores)
                            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                        {each.values.data() + begin, count, 1, 1});
            }
            const NaiveRow<float> naive(each.scores, {each.values.data(), 4, 1, 1});
            CHECK(near(static_cast<double>(row.result(row.tiles() - 1)[0]), each.expected, 1e-6));
            CHECK(near(static_cast<double>(naive.output[0]), each.expected, 1e-6));
        }
}

TEST_CASE("a row has the same bits whichever rows are processed beside it") {
    const Case c{"", 1, 1, 50, 90, 16, 4, 1, masked(Mask::causal(40))};
    const auto record = record_of(c);
    OnlineWalk all(record, 0, {8, 16}, 7), one(record, 0, {11, 12}, 7);
    while (all.step()) continue;
    while (one.step()) continue;
    CHECK(all.row(11).scores() == one.row(11).scores());
    CHECK(all.row(11).result(12) == one.row(11).result(12));
}
