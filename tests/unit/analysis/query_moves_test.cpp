#include "analysis/theory/query_moves.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/numbers.hpp"
#include "unit/analysis/hopfield_patterns.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("queries are followed one by one, all or evenly chosen ones, and impossible ones are left out") {
    constexpr Index tokens = 12, d = 5;
    AttentionSpec spec;
    spec.mask = Mask::causal(-1);  // the first query sees no key
    Tensor q = random_tensor({1, tokens, d}, 1);
    q.heads().head(0)(4, 2) = std::nanf("");
    const auto record = std::make_shared<const Record>(
        *Record::run(std::move(q), random_tensor({1, tokens, d}, 2), random_tensor({1, tokens, d}, 3), spec));
    QueryMoves moves(record, 0, 0.7);
    while (moves.step()) continue;
    CHECK(moves.count() == tokens);
    REQUIRE(moves.rows().size() == static_cast<std::size_t>(tokens - 2));
    for (const QueryMoves::Row& row : moves.rows()) {
        CHECK(row.query != 0);
        CHECK(row.query != 4);
        CHECK(row.patterns == row.query);
        const auto start = query_state(*record, 0, row.query);
        const auto patterns = patterns_seen(*record, 0, row.query);
        const HopfieldLook<double> look = look_from(*patterns, 0.7, *start);
        CHECK(row.first == distance_between(look.next, *start));
        CHECK(row.settled);
    }
    // With 16,384 queries, follows as many as take some seconds; a slice takes a few milliseconds.
    constexpr Index n = 16'384, wide = 64;
    auto large = Record::prepare(random_tensor({1, n, wide}, 1), random_tensor({1, n, wide}, 2),
                                 random_tensor({1, n, wide}, 3), {});
    REQUIRE(large);
    const auto huge = std::make_shared<const Record>(*std::move(large));
    QueryMoves sampled(huge, 0, 0.125);
    CHECK(sampled.count() >= QueryMoves::fewest);
    CHECK(sampled.count() <= 256);
    while (sampled.rows().empty() && sampled.step()) continue;
    CHECK(sampled.rows().front().query == n / sampled.count() - 1);
}
