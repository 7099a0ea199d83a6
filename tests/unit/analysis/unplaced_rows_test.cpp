#include "analysis/heads/unplaced_rows.hpp"

#include <catch_amalgamated.hpp>

#include "model/forward.hpp"
#include "support/numbers.hpp"
#include "unit/model/models.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("GPT-2's first layer can be shown without its positions, and with its own table it gives its run") {
    const auto trace = run_forward(load(golden_folder("gpt2-f32")), {1, 4, 2, 3, 4});
    REQUIRE(trace);
    const Record& record = *record_of(*trace, 0);
    for (Index head = 0; head < record.heads(); ++head) {
        const UnplacedRows content(*trace, record_of(*trace, 0), {0, head}, {0, 5});
        CHECK(content.from() == UnplacedRows::From::embedding);
        const std::vector<Index> places{0, 1, 2, 3, 4};
        const HeadRows placed = content.at_own_positions(places, places);
        for (Index token = 0; token < 5; ++token)
            for (Index a = 0; a < record.d_k(); ++a) {
                CHECK(placed.q.heads().head(0)(token, a) ==
                      Catch::Approx(record.q().heads().head(head)(token, a)).margin(2e-6));
                CHECK(content.at_own_position(Stage::k, token, token)[static_cast<std::size_t>(a)] ==
                      Catch::Approx(record.k().heads().head(head)(token, a)).margin(2e-6));
                CHECK(placed.v.heads().head(0)(token, a) ==
                      Catch::Approx(record.v().heads().head(head)(token, a)).margin(2e-6));
            }
        // The same token id gives the same q without positions, and a different one with them.
        const auto q = [&](const HeadRows& rows, Index token) { return rows.q.heads().head(0)(token, 0); };
        CHECK(q(content.rows(), 1) == q(content.rows(), 4));
        CHECK(q(placed, 1) != q(placed, 4));
        // The projection of the mean is the mean of the projections.
        double mean = 0;
        for (Index token = 0; token < 5; ++token) mean += content.at_own_position(Stage::q, token, 3)[0] / 5;
        CHECK(content.at_own_position(Stage::q, std::nullopt, 3)[0] == Catch::Approx(mean).margin(2e-6));
        CHECK(UnplacedRows(*trace, record_of(*trace, 1), {1, head}, {0, 5}).from() ==
              UnplacedRows::From::inside);
    }
}

TEST_CASE("the edge of a mask determines the positions of queries relative to keys") {
    using M = Mask;
    CHECK(diagonal_of(M::causal(2), 0, 3, 5) == 2);
    CHECK(diagonal_of(M::causal(), 0, 3, 5) == 0);
    CHECK(diagonal_of(M::causal(-2), 0, 5, 3) == -2);
    CHECK(diagonal_of(M::window(1, 0) & M::causal(), 0, 5, 5) == 0);
    CHECK(diagonal_of(M::painted({1, 2, 4, {1, 1, 1, 0, 1, 1, 1, 1}}), 0, 2, 4) == 2);
    for (const Mask& none : {M(), M::causal(9), M::padding(2), M::strided(2), !M::causal(), M::padding(0)})
        CHECK_FALSE(diagonal_of(none, 0, 3, 5));
}

TEST_CASE("if a mask is causal with a past, queries come after it") {
    AttentionSpec spec;
    spec.mask = Mask::causal(2);
    auto record = Record::run(random_tensor({1, 3, 4}, 1), random_tensor({1, 5, 4}, 2),
                              random_tensor({1, 5, 2}, 3), spec);
    REQUIRE(record);
    const UnplacedRows content(nullptr, std::make_shared<const Record>(*std::move(record)), {0, 0}, {0, 3},
                               Range{0, 5});
    CHECK(content.has_diagonal());
    CHECK(content.query_position(0) == 2);
    CHECK(content.key_position(0) == 0);
}
