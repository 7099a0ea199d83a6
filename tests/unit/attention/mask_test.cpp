#include "attention/mask.hpp"

#include <catch_amalgamated.hpp>
#include <string>

using namespace attn;

namespace {

// Draws the rows of a small mask as text, with 'x' where the query may attend.
std::string picture(const Mask& mask, Index rows, Index cols, Index head = 0) {
    std::string text;
    for (Index q = 0; q < rows; ++q) {
        for (Index k = 0; k < cols; ++k) text += mask.allows(head, q, k) ? 'x' : '.';
        text += ' ';
    }
    text.pop_back();
    return text;
}

std::vector<Mask> all_kinds() {
    const PaintedBits bits{2, 5, 7, std::vector<std::uint8_t>(70, 1)};
    PaintedBits some = bits;
    for (std::size_t i = 0; i < 70; i += 3) some.allowed[i] = 0;
    const Mask documents = Mask::same_document({0, 0, 0, 1, 1, 2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3, 3, 0});
    return {Mask(),
            Mask::causal(),
            Mask::causal(3),
            Mask::causal(-2),
            Mask::window(2, 1),
            Mask::window(-1, 2),
            Mask::window(1, -3),
            Mask::padding(0),
            Mask::padding(6),
            documents,
            Mask::prefix(3),
            Mask::strided(1),
            Mask::strided(3),
            Mask::block_sparse(3, 2, 3, {1, 0, 1, 0, 1, 0}),
            Mask::global_local({0, 6}, 1),
            Mask::painted(bits),
            Mask::painted(some),
            Mask::painted({1, 1, 4, {1, 0, 1, 0}}),
            Mask::painted({1, 5, 1, {1, 0, 1, 0, 1}}),
            Mask::painted({1, 0, 0, {}}),
            Mask::causal() & Mask::window(2, 0),
            Mask::padding(4) | Mask::strided(4),
            !Mask::causal(),
            !Mask(),
            Mask::causal(1) & (Mask::global_local({2}, 0) | !documents)};
}

}  // namespace

TEST_CASE("Each mask has its picture", "[unit][mask]") {
    CHECK(picture(Mask::everything(), 2, 3) == "xxx xxx");
    CHECK(picture(Mask::causal(), 3, 3) == "x.. xx. xxx");
    CHECK(picture(Mask::causal(1), 2, 4) == "xx.. xxx.");
    CHECK(picture(Mask::causal(-1), 3, 3) == "... x.. xx.");
    CHECK(picture(Mask::window(1, 0), 4, 4) == "x... xx.. .xx. ..xx");
    CHECK(picture(Mask::window(0, 1), 3, 4) == "xx.. .xx. ..xx");
    CHECK(picture(Mask::padding(2), 2, 4) == "xx.. xx..");
    CHECK(picture(Mask::same_document({7, 7, 8}, {7, 8, 8}), 4, 4) == "x... x... .xx. ....");
    CHECK(picture(Mask::prefix(2), 4, 4) == "xx.. xx.. xxx. xxxx");
    CHECK(picture(Mask::strided(2), 3, 4) == "x.x. .x.x x.x.");
    CHECK(picture(Mask::block_sparse(2, 2, 2, {1, 0, 1, 1}), 5, 5) == "xx... xx... xxxx. xxxx. .....");
    CHECK(picture(Mask::global_local({1}, 0), 3, 3) == "xx. xxx .xx");
    CHECK(picture(Mask::painted({1, 2, 2, {1, 0, 0, 1}}), 3, 3) == "x.. .x. ...");
    CHECK(picture(Mask::painted({1, 1, 3, {1, 0, 1}}), 2, 4) == "x.x. x.x.");
    CHECK(picture(Mask::painted({1, 2, 1, {0, 1}}), 3, 3) == "... xxx ...");
}

TEST_CASE("Painted bits of one head serve all heads, or each has its own", "[unit][mask]") {
    const Mask two = Mask::painted({2, 1, 2, {1, 0, 0, 1}});
    CHECK(picture(two, 1, 2, 0) == "x.");
    CHECK(picture(two, 1, 2, 1) == ".x");
    CHECK(picture(two, 1, 2, 2) == "..");
    CHECK(picture(Mask::painted({1, 1, 2, {1, 0}}), 1, 2, 5) == "x.");
}

TEST_CASE("And, or, not", "[unit][mask]") {
    const Mask a = Mask::causal(), b = Mask::window(0, 2);
    CHECK(picture(a & b, 3, 3) == "x.. .x. ..x");
    CHECK(picture(a | b, 3, 3) == "xxx xxx xxx");
    CHECK(picture(!a, 3, 3) == ".xx ..x ...");
    CHECK((a & Mask()) == a);
    CHECK((Mask() & a) == a);
    CHECK((a | Mask()).is_everything());
    CHECK(picture(!Mask(), 1, 2) == "..");
    CHECK(((a & b) & a) == (a & (b & a)));
    CHECK_FALSE((a & b) == (b & a));  // expressions are compared, not cells
    CHECK(Mask::causal(2) == Mask::causal(2));
    CHECK_FALSE(Mask::causal(2) == Mask::causal(3));
    CHECK_FALSE(Mask::causal(2) == Mask());
}

TEST_CASE("A row equals its cells, from any key on", "[unit][mask]") {
    for (const Mask& mask : all_kinds())
        for (Index q = 0; q < 9; ++q)
            for (Index first = 0; first < 12; ++first) {
                std::vector<std::uint8_t> row(static_cast<std::size_t>(12 - first), 9);
                mask.row(1, q, first, row);
                for (std::size_t i = 0; i < row.size(); ++i)
                    REQUIRE(row[i] == mask.allows(1, q, first + static_cast<Index>(i)));
            }
}

TEST_CASE("Long rows of compound masks equal their cells, too", "[unit][mask]") {
    const Mask mask = (Mask::strided(3) | Mask::window(5, 5)) & Mask::causal(700);
    std::vector<std::uint8_t> row(1000);
    mask.row(0, 50, 7, row);
    for (std::size_t i = 0; i < row.size(); ++i)
        REQUIRE(row[i] == mask.allows(0, 50, 7 + static_cast<Index>(i)));
}

TEST_CASE("Statements about a tile are true", "[unit][mask]") {
    for (const Mask& mask : all_kinds())
        for (Index q0 = 0; q0 < 9; ++q0)
            for (Index q1 = q0 + 1; q1 < 10; ++q1)
                for (Index k0 = 0; k0 < 11; ++k0)
                    for (Index k1 = k0 + 1; k1 < 12; ++k1) {
                        bool all = true, none = true;
                        for (Index q = q0; q < q1; ++q)
                            for (Index k = k0; k < k1; ++k) (mask.allows(1, q, k) ? none : all) = false;
                        const Coverage coverage = mask.tile(1, {q0, q1}, {k0, k1});
                        INFO(mask.text() << " queries " << q0 << "-" << q1 << " keys " << k0 << "-" << k1);
                        REQUIRE((coverage != Coverage::all || all));
                        REQUIRE((coverage != Coverage::none || none));
                    }
}

TEST_CASE("A row's stated run of keys is exactly what it may attend to", "[unit][mask]") {
    for (const Mask& mask : all_kinds())
        for (Index q = 0; q < 10; ++q)
            for (Index k0 = 0; k0 < 11; ++k0)
                for (Index k1 = k0; k1 < 13; ++k1) {
                    Range run{k0, k1};
                    INFO(mask.text() << " query " << q << " keys " << k0 << "-" << k1);
                    if (!mask.run(1, q, run)) {
                        REQUIRE(run == Range{k0, k1});
                        continue;
                    }
                    REQUIRE((k0 <= run.begin && run.begin <= run.end && run.end <= k1));
                    for (Index k = k0; k < k1; ++k)
                        REQUIRE(mask.allows(1, q, k) == (run.begin <= k && k < run.end));
                }
}

TEST_CASE("Rows whose keys form one run are recognised", "[unit][mask]") {
    const auto run = [](const Mask& mask, Index query) {
        Range keys{10, 50};
        REQUIRE(mask.run(0, query, keys));
        return keys;
    };
    CHECK(run(Mask::everything(), 3) == Range{10, 50});
    CHECK(run(Mask::causal(), 20) == Range{10, 21});
    CHECK(run(Mask::causal(5), 20) == Range{10, 26});
    CHECK(run(Mask::causal() & Mask::window(4, 0), 20) == Range{16, 21});
    CHECK(run(Mask::causal() & Mask::padding(18), 20) == Range{10, 18});
    CHECK(run(Mask::prefix(30), 20) == Range{10, 30});
    CHECK(run(Mask::causal(), 5).size() == 0);
    CHECK(run(Mask::window(3, 3), 90).size() == 0);
    Range keys{10, 50};
    CHECK_FALSE((Mask::causal() | Mask::window(4, 4)).run(0, 20, keys));
    CHECK_FALSE((Mask::causal() & Mask::strided(3)).run(0, 20, keys));
    CHECK(keys == Range{10, 50});
}

TEST_CASE("The tiles that save work are recognised", "[unit][mask]") {
    const Range first{0, 64}, second{64, 128};
    CHECK(Mask::causal().tile(0, first, second) == Coverage::none);
    CHECK(Mask::causal().tile(0, second, first) == Coverage::all);
    CHECK(Mask::causal().tile(0, first, first) == Coverage::some);
    CHECK(Mask::window(10, 0).tile(0, {200, 264}, first) == Coverage::none);
    CHECK(Mask::window(500, 500).tile(0, first, second) == Coverage::all);
    CHECK(Mask::padding(64).tile(0, first, first) == Coverage::all);
    CHECK(Mask::padding(64).tile(0, first, second) == Coverage::none);
    CHECK(Mask::prefix(64).tile(0, first, first) == Coverage::all);
    CHECK(Mask::prefix(64).tile(0, first, second) == Coverage::none);
    CHECK(Mask::global_local({0}, 8).tile(0, second, {128, 192}) == Coverage::some);
    CHECK(Mask::global_local({0}, 8).tile(0, second, {192, 256}) == Coverage::none);
    CHECK(Mask::block_sparse(64, 2, 2, {1, 0, 0, 1}).tile(0, first, second) == Coverage::none);
    CHECK(Mask::block_sparse(64, 2, 2, {1, 0, 0, 1}).tile(0, second, second) == Coverage::all);
    std::vector<std::int32_t> documents(128, 0);
    std::fill(documents.begin() + 64, documents.end(), 1);
    CHECK(Mask::same_document(documents, documents).tile(0, first, second) == Coverage::none);
    CHECK(Mask::same_document(documents, documents).tile(0, second, second) == Coverage::all);
    CHECK((Mask::causal() & Mask::padding(10)).tile(0, second, second) == Coverage::none);
    CHECK((Mask::causal() | Mask()).tile(0, first, second) == Coverage::all);
    CHECK((!Mask::causal()).tile(0, first, second) == Coverage::all);
}

TEST_CASE("Odd arguments are replaced by the nearest sensible ones", "[unit][mask]") {
    CHECK(picture(Mask::strided(0), 2, 2) == "xx xx");
    CHECK(picture(Mask::padding(-3), 1, 2) == "..");
    CHECK(picture(Mask::window(PTRDIFF_MAX, PTRDIFF_MAX), 2, 2) == "xx xx");
    CHECK(picture(Mask::causal(PTRDIFF_MIN), 1, 2) == "..");
    CHECK(picture(Mask::painted({1, 2, 2, {1}}), 2, 2) == "x. ..");  // missing bits are not allowed
    CHECK(picture(Mask::block_sparse(0, 1, 1, {}), 1, 1) == ".");
    CHECK(Mask::global_local({3, 1, 3}, 0) == Mask::global_local({1, 3}, 0));
}

TEST_CASE("An empty tile is of no use", "[unit][mask]") {
    for (const Mask& mask : all_kinds()) {
        CHECK(mask.tile(0, {3, 3}, {0, 5}) == Coverage::none);
        CHECK(mask.tile(0, {0, 5}, {3, 3}) == Coverage::none);
        mask.row(0, 0, 0, {});
    }
}
