#include "attention/mask_terms.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>

#include "random_masks.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("random masks are their plain functions: cells, rows, tiles, and the text's", "[unit][mask]") {
    Random random(3);
    for (int i = 0; i < 600; ++i) {
        const Index size = 1 + static_cast<Index>(random.below(70));
        const TwoWays both = random_mask(random, size, 3);
        const auto read = Mask::parse(both.mask.text());
        INFO(both.mask.text().substr(0, 300));
        REQUIRE(read);
        std::vector<std::uint8_t> row(static_cast<std::size_t>(size));
        for (Index q = 0; q < size; ++q) {
            read->row(0, q, 0, row);
            for (Index k = 0; k < size; ++k) {
                REQUIRE(both.mask.allows(0, q, k) == both.allows(q, k));
                REQUIRE((row[static_cast<std::size_t>(k)] != 0) == both.allows(q, k));
            }
        }
        const Range queries{size / 3, size}, keys{0, size / 2 + 1};
        bool all = true, none = true;
        for (Index q = queries.begin; q < queries.end; ++q)
            for (Index k = keys.begin; k < keys.end; ++k) (both.allows(q, k) ? none : all) = false;
        const Coverage coverage = both.mask.tile(0, queries, keys);
        REQUIRE((coverage != Coverage::all || all));
        REQUIRE((coverage != Coverage::none || none));
    }
}

TEST_CASE("a mask is its terms joined again", "[unit][mask]") {
    CHECK(terms_of(Mask()).terms.empty());
    CHECK(terms_of(Mask::causal() & Mask::padding(3) & Mask::strided(2)).terms.size() == 3);
    CHECK(terms_of(Mask::causal() | Mask::padding(3)).join == Join::any);
    CHECK(terms_of(!(Mask::causal() | Mask::padding(3))).terms.size() == 1);
    CHECK(joined({}).is_everything());
    Random random(4);
    for (int i = 0; i < 500; ++i) {
        const Mask mask = random_mask(random, 12, 3).mask;
        CHECK(joined(terms_of(mask)) == mask);
    }
}

TEST_CASE("the numbers of a term are read and set", "[unit][mask]") {
    const Mask window = Mask::window(15, 0);
    REQUIRE(numbers_of(window).size() == 2);
    CHECK(std::string(numbers_of(window)[0].name) == "back");
    CHECK(numbers_of(window)[0].value == 15);
    CHECK(with_number(window, 0, 3) == Mask::window(3, 0));
    CHECK(with_number(window, 1, 2) == Mask::window(15, 2));
    CHECK(with_number(!Mask::causal(2), 0, -1) == !Mask::causal(-1));
    CHECK(with_number(Mask::strided(4), 0, -7) == Mask::strided(1));
    CHECK(numbers_of(Mask::painted({1, 1, 1, {1}})).empty());
    CHECK(numbers_of(Mask()).empty());
    Random random(5);
    for (int i = 0; i < 300; ++i) {
        const Mask term = random_atom(random, 20).mask;
        const auto numbers = numbers_of(term);
        for (std::size_t n = 0; n < numbers.size(); ++n)
            CHECK(with_number(term, n, numbers[n].value) == term);
    }
}

TEST_CASE("terms have names, and opposites", "[unit][mask]") {
    CHECK(name_of(Mask::causal(2)) == "causal");
    CHECK(name_of(!Mask::same_document({0}, {0})) == "not same document");
    CHECK(name_of(Mask::causal(0) | Mask::padding(3)) == "(causal(0) | padding(3))");
    CHECK(name_of(!(Mask::causal(0) & Mask::padding(3))) == "not (causal(0) & padding(3))");
    CHECK(negated(Mask::causal()) == !Mask::causal());
    CHECK(negated(!Mask::causal()) == Mask::causal());
}

TEST_CASE("a painted cell is changed, and nothing else", "[unit][mask]") {
    const Mask mask = Mask::painted({1, 2, 2, {1, 0, 0, 1}});
    CHECK(with_cell_changed(mask, 0, 1) == Mask::painted({1, 2, 2, {1, 1, 0, 1}}));
    CHECK(with_cell_changed(!mask, 1, 1) == !Mask::painted({1, 2, 2, {1, 0, 0, 0}}));
    CHECK_FALSE(with_cell_changed(mask, 2, 0));
    CHECK_FALSE(with_cell_changed(mask, -1, 0));
    CHECK_FALSE(with_cell_changed(Mask::causal(), 0, 0));
    CHECK_FALSE(with_cell_changed(Mask::painted({2, 1, 1, {1, 1}}), 0, 0));
}

TEST_CASE("off by one moves the edges along the diagonal by one key", "[unit][mask]") {
    CHECK(shifted(Mask::causal(), -1) == Mask::causal(-1));
    CHECK(shifted(Mask::window(3, 0), 1) == Mask::window(2, 1));
    CHECK(shifted(Mask::padding(3) & !Mask::causal(), 1) == (Mask::padding(3) & !Mask::causal(1)));
    const Mask same = Mask::strided(3) | Mask::global_local({0}, 1);
    CHECK(shifted(same, 1) == same);
    CHECK(shifted(Mask::causal(), 0) == Mask::causal());
    // Where all edges follow the diagonal, a query sees what it saw one key to the side.
    for (const Mask& mask : {Mask::causal(), Mask::window(2, 1), Mask::causal() & Mask::window(4, 4),
                             !Mask::window(1, 1) | Mask::causal(-2)})
        for (const Index by : {-1, 1})
            for (Index q = 0; q < 9; ++q)
                for (Index k = 1; k < 9; ++k)
                    CHECK(shifted(mask, by).allows(0, q, k) == mask.allows(0, q, k - by));
    for (Index q = 0; q < 9; ++q)
        for (Index k = 0; k < 9; ++k)
            CHECK(shifted(Mask::prefix(3), 1).allows(0, q, k) == (k < 3 || k <= q + 1));
}
