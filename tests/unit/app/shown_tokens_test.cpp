// Checks that, if a text does not fit, a lens shows the tokens that are chosen, strongest or named.
#include "app/shown_tokens.hpp"

#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>

#include "lenses/geometry/geometry.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/order/order.hpp"
#include "support/small_families.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

std::vector<Index> shown(Index all, Index room, Index last, std::vector<Index> wanted) {
    const ShownTokens tokens(all, room, last, wanted);
    return {tokens.begin(), tokens.end()};
}

// Says whether a grid of this name, or a line of tokens, has a column for a token.
bool has_column(const std::string& grid, const std::string& name) {
    for (const ui::Node& node : ui::semantics())
        if (node.key == grid && node.grid)
            for (const std::string& column : node.grid->column_names)
                if (column == name || column == "… " + name) return true;
    return false;
}

// Uses rotary positions, so that the text may be long.
void open_long(Screen& screen, Index words) {
    const auto family = std::ranges::find(small_families, std::string_view("falcon"), &SmallFamily::name);
    const ModelFiles files = files_of(*family);
    load_files(screen.visit, "tiny", as_opened(files));
    screen.write_words(words);
}

}  // namespace

TEST_CASE("if there is no room for all tokens, the requested ones come first, then the newest") {
    using Tokens = std::vector<Index>;
    CHECK(shown(5, 8, 4, {}) == Tokens{0, 1, 2, 3, 4});
    CHECK(shown(20, 4, 19, {}) == Tokens{16, 17, 18, 19});
    CHECK(shown(20, 4, 19, {0, 7}) == Tokens{0, 7, 18, 19});
    CHECK(shown(20, 4, 9, {0, -1, 25, 0}) == Tokens{0, 7, 8, 9});
    CHECK(shown(20, 4, 1, {15}) == Tokens{0, 1, 2, 15});
    CHECK(shown(20, 2, 19, {3, 2, 1}) == Tokens{2, 3});
    CHECK(shown(6, 3, -1, {}) == Tokens{0, 1, 2});
    CHECK(shown(0, 3, -1, {}).empty());
    const std::array<Index, 1> wanted{2};
    const ShownTokens some(9, 3, 8, wanted);
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    CHECK(some.labels(names) == std::vector<std::string>{"… c", "… h", "i"});
    CHECK(some.place(7) == 1);
    CHECK(some.holds(7));
    CHECK_FALSE(some.holds(6));
    CHECK_FALSE(some.are_all());
}

TEST_CASE("a lens that shows part of a text shows the chosen and the strongest key of the chosen query") {
    Screen screen({1240, 846});
    open_long(screen, 60);
    for (const Index head : {0, 1})
        for (const Index chosen : {0, 11, 30}) {
            screen.visit.perform(Select{{1, head, 59, chosen, {}}});
            const std::vector<float> weights =
                sentence_in(screen.visit).run()->record_at(1).weights(head, 59);
            const Index strongest = std::ranges::max_element(weights) - weights.begin();
            INFO("head " << head << ", chosen " << chosen << ", strongest " << strongest);
            const auto check = [&](const char* grid) {
                INFO(grid);
                for (const Index key : {chosen, strongest})
                    CHECK(has_column(grid, "word" + std::to_string(key)));
            };
            screen.visit.perform(OpenLens{"knockout"});
            knockout::State edges;
            edges.part = knockout::Part::edges;
            screen.visit.perform(Set<knockout::State>{edges});
            screen.settle();
            check("knockout/row");
            check("knockout/weights");
            // The strongest edges do not displace the query itself.
            CHECK(screen.shows("knockout/weights/0/0"));
            for (const char* map : {"knockout/weights", "knockout/estimate"})
                CHECK(has_column(map, "word59"));
            screen.visit.perform(OpenLens{"geometry"});
            for (const geometry::Part part : {geometry::Part::gauge, geometry::Part::metric}) {
                geometry::State state;
                state.part = part;
                screen.visit.perform(Set<geometry::State>{state});
                screen.settle();
                check("geometry/score");
            }
            screen.visit.perform(OpenLens{"masks"});
            screen.settle();
            check("masks/empty");
        }
}

TEST_CASE("Order keeps the chosen token in view, unless the user goes elsewhere") {
    Screen screen;
    open_long(screen, 30);
    screen.visit.perform(OpenLens{"order"});
    const auto in_view = [&] {
        screen.settle();
        return static_cast<ModelLens<order::Model>&>(screen.visit.lens()).model().queries.in_view;
    };
    CHECK(in_view() == Range{18, 30});  // the predicted one
    for (const Index query : {29, 17, 15, 3}) {
        CAPTURE(query);
        screen.visit.perform(Select{{0, 0, query, {}, {}}});
        const Range range = in_view();
        CHECK(range.size() == 12);
        CHECK((query >= range.begin && query < range.end));
    }
    // After dragging or stepping, the view stays there.
    screen.visit.perform(Select{{0, 0, 29, {}, {}}});
    screen.settle();
    screen.click("order/preset/swap");
    CHECK(screen.visit.state().of<order::State>().first == 18);
    screen.visit.perform(Select{{0, 0, 3, {}, {}}});
    CHECK(in_view() == Range{18, 30});
}
