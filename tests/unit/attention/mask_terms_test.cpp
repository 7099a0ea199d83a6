#include "attention/mask_terms.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>

#include "random_masks.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("random masks match their plain functions: cells, rows, tiles, and the text", "[unit][mask]") {
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

TEST_CASE("terms have names, and complements", "[unit][mask]") {
    CHECK(name_of(Mask::causal(2)) == "causal");
    CHECK(name_of(!Mask::same_document({0}, {0})) == "not same document");
    CHECK(name_of(Mask::causal(0) | Mask::padding(3)) == "(causal(0) | padding(3))");
    CHECK(name_of(!(Mask::causal(0) & Mask::padding(3))) == "not (causal(0) & padding(3))");
    CHECK(negated(Mask::causal()) == !Mask::causal());
    CHECK(negated(!Mask::causal()) == Mask::causal());
}

namespace {

bool same_cells(const Mask& a, const Mask& b, Index size) {
    for (Index q = 0; q < size; ++q)
        for (Index k = 0; k < size; ++k)
            if (a.allows(0, q, k) != b.allows(0, q, k)) return false;
    return true;
}

}  // namespace

TEST_CASE("painted cells override the mask, and earlier painted cells", "[unit][mask]") {
    Random random(6);
    for (int i = 0; i < 200; ++i) {
        const Index size = 1 + static_cast<Index>(random.below(30));
        const auto below = [&](Index n) {
            return static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
        };
        const Mask first = random_mask(random, size, 2).mask;
        Mask mask = first;
        std::vector<std::uint8_t> plain(static_cast<std::size_t>(size * size));
        for (Index q = 0; q < size; ++q)
            first.row(
                0, q, 0,
                std::span(plain).subspan(static_cast<std::size_t>(q * size), static_cast<std::size_t>(size)));
        for (int stroke = 0; stroke < 6; ++stroke) {
            CellRegion cells;
            const bool allowed = random.below(2) == 0;
            for (Index squares = 1 + below(4); squares > 0; --squares) {
                const Index q = below(size), k = below(size);
                const Range queries{q, std::min(size, q + 1 + below(3))},
                    keys{k, std::min(size, k + 1 + below(3))};
                cells.add(queries, keys);
                for (Index r = queries.begin; r < queries.end; ++r)
                    for (Index c = keys.begin; c < keys.end; ++c)
                        plain[static_cast<std::size_t>(r * size + c)] = allowed;
            }
            mask = with_cells(mask, cells, allowed);
        }
        INFO(mask.text().substr(0, 400));
        for (Index q = 0; q < size; ++q)
            for (Index k = 0; k < size; ++k)
                REQUIRE(mask.allows(0, q, k) == (plain[static_cast<std::size_t>(q * size + k)] != 0));
        CHECK(*Mask::parse(mask.text()) == mask);
    }
    CellRegion one, two;
    one.add({1, 2}, {3, 4});
    two.add({2, 3}, {3, 4});
    CHECK(with_cells(Mask::causal(), one, true).text() == "causal(0) | cells(1,[1,2,3,4])");
    CHECK(with_cells(with_cells(Mask::causal(), one, true), two, false).text() ==
          "(causal(0) | cells(1,[1,2,3,4])) & !cells(1,[2,3,3,4])");
    CHECK(with_cells(with_cells(Mask::causal(), one, true), one, false).text() ==
          "causal(0) & !cells(1,[1,2,3,4])");
    CHECK(with_cells(Mask(), one, false) == !Mask::cells(one));
}

TEST_CASE("a stroke over a large map takes few words, and invalid cells are refused", "[unit][mask]") {
    CellRegion diagonal;
    for (Index at = 0; at < 16'384; at += 128) diagonal.add({at, at + 128}, {at, at + 128});
    const Mask mask = Mask::cells(diagonal);
    CHECK(mask.text().size() < 2'000);
    CHECK(*Mask::parse(mask.text()) == mask);
    CHECK(mask.tile(0, {128, 256}, {128, 256}) == Coverage::all);
    CHECK(mask.tile(0, {128, 256}, {256, 384}) == Coverage::none);
    CHECK(mask.tile(0, {120, 130}, {120, 130}) == Coverage::some);
    CHECK(*Mask::parse("cells(1)") == Mask::cells({}));
    for (const char* wrong : {"cells()", "cells(0,[0,1,0,1])", "cells(1,[0,1])", "cells(1,[0,1,2])",
                              "cells(1,[0,1,2,2])", "cells(1,[2,1,0,1])", "cells(1,[-1,1,0,1])",
                              "cells(1,[0,2,0,1],[1,2,0,1])", "cells(1,[0,1,3,4,0,1])",
                              "cells(1,[0,1,0,2,2,3])", "cells(1000000000,[0,2,0,1])", "cells(1,[0,1,0,1]"}) {
        INFO(wrong);
        CHECK_FALSE(Mask::parse(wrong));
    }
}

TEST_CASE("brackets are made, changed and dissolved at any depth", "[unit][mask]") {
    const Mask a = Mask::causal(), b = Mask::padding(3), c = Mask::strided(2), d = Mask::window(4, 0);
    const MaskTerms three = terms_of(a & b & c);
    CHECK(joined(bracketed(three, 0, std::nullopt)) == ((a | b) & c));
    CHECK(joined(bracketed(three, 2, std::nullopt)) == (a & b & c));
    CHECK(joined(bracketed(three, 1, d)) == (a & (b | d) & c));
    CHECK(joined(bracketed(terms_of(a | b), 0, d)) == ((a & d) | b));
    CHECK(joined(dissolved(terms_of((a | b) & c), 0)) == (a & b & c));
    CHECK(joined(dissolved(terms_of(!(a | b) & c), 0)) == (!a & !b & c));
    CHECK(joined(dissolved(terms_of(three.terms[0] & c), 1)) == (a & c));
    CHECK(inside(a).terms.empty());
    CHECK(inside(!!(a | b)).terms == std::vector{a, b});
    CHECK(with_inside(!(a | b), terms_of(c & d)) == !(c & d));
    CHECK(name_of(!!a) == "not not causal");
    CHECK(with_number(!!a, 0, 2) == !!Mask::causal(2));
    // Redundant brackets are removed without changing any cell.
    Random random(7);
    for (int i = 0; i < 300; ++i) {
        const Mask mask = random_mask(random, 9, 3).mask;
        const MaskTerms terms = terms_of(mask);
        if (terms.terms.size() == 1) CHECK(same_cells(joined(dissolved(terms, 0)), mask, 9));
    }
}

TEST_CASE("off by one moves the edges along the diagonal by one key", "[unit][mask]") {
    CHECK(shifted(Mask::causal(), -1) == Mask::causal(-1));
    CHECK(shifted(Mask::window(3, 0), 1) == Mask::window(2, 1));
    CHECK(shifted(Mask::padding(3) & !Mask::causal(), 1) == (Mask::padding(3) & !Mask::causal(1)));
    const Mask same = Mask::strided(3) | Mask::global_local({0}, 1);
    CHECK(shifted(same, 1) == same);
    CHECK(shifted(Mask::causal(), 0) == Mask::causal());
    // If all edges follow the diagonal, a shifted mask allows what the mask allows one key to the side.
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
