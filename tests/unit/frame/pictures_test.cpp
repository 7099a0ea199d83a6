// Tests that every picture of a lens is also a table, and that a click on one of its numbers pins the cell
// that it names.
#include "unit/frame/pictures.hpp"

#include <catch_amalgamated.hpp>

#include "lenses/geometry/geometry.hpp"
#include "lenses/inverse/inverse.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Checks that a click on the landmark pins a number with this value.
void check_pinned(Screen& screen, const std::string& landmark, double value) {
    INFO(landmark << " shows " << value);
    screen.visit.perform(Pin{});
    screen.click(landmark);
    const auto pin = screen.visit.state().pin;
    REQUIRE(pin);
    INFO(write_cell(*pin));
    const auto told = why(screen.visit, *pin);
    REQUIRE(told);
    CHECK(told->f32 == Catch::Approx(value).epsilon(1e-4).margin(1e-5));
}

// Clicks on the first and the last number of each picture, except for those that change when clicked. Returns
// how many pictures there are.
std::ptrdiff_t click_pictures(Screen& screen, const std::vector<std::string>& changing = {}) {
    screen.settle();
    check_pictures(screen);
    const std::vector<std::string> keys = pictures();
    for (const std::string& key : keys) {
        if (std::ranges::find(changing, key) != changing.end()) continue;
        const Matrix values = table_shown(screen, key).values;
        for (const auto& [row, column] :
             {std::pair(Index{0}, Index{0}), std::pair(values.rows - 1, values.cols - 1)}) {
            const std::string bar = key + "/" + std::to_string(row);
            const std::string cell = bar + "/" + std::to_string(column);
            if (screen.shows(cell))
                check_pinned(screen, cell, values.at(row, column));
            else if (screen.shows(bar) && values.cols == 1)
                check_pinned(screen, bar, values.at(row, 0));
        }
    }
    return std::ssize(keys);
}

struct ExampleIn : Screen {
    explicit ExampleIn(const char* lens) : Screen({1440, 3600}) {
        visit.perform(OpenSubject{worked_subject});
        visit.perform(OpenLens{lens});
    }
};

}  // namespace

TEST_CASE("every picture of Geometry is a table, and pins the number that is clicked") {
    ExampleIn screen("geometry");
    for (const geometry::Part part :
         {geometry::Part::form, geometry::Part::gauge, geometry::Part::metric, geometry::Part::einsum}) {
        INFO(static_cast<int>(part));
        geometry::State next;
        next.part = part;
        next.gauge.t = 0.5;
        screen.visit.perform(Set<geometry::State>{next});
        CHECK(click_pictures(screen) == std::array{4, 6, 6, 1}[static_cast<std::size_t>(part)]);
    }
    screen.visit.perform(Set<geometry::State>{});
    screen.open_sentence();
    screen.visit.perform(OpenLens{"geometry"});
    CHECK(click_pictures(screen) == 8);
}

TEST_CASE("every picture of Gradient is a table, and pins the number that is clicked") {
    ExampleIn screen("gradient");
    CHECK(click_pictures(screen) == 23);
}

TEST_CASE("every picture of Make it so is a table, and pins the number that is clicked") {
    ExampleIn screen("inverse");
    CHECK(click_pictures(screen, {"inverse/target"}) == 8);
    inverse::State wishing;
    wishing.wish(2, 1, 0.7);
    screen.visit.perform(Set<inverse::State>{wishing});
    CHECK(click_pictures(screen, {"inverse/target"}) == 13);
}

TEST_CASE("every picture of the overview and Compare is a table, and pins the number that is clicked") {
    Screen screen({1440, 2600});
    screen.open_sentence();
    CHECK(click_pictures(screen, {"next"}) == 4);
    screen.visit.perform(OpenLens{"ladder"});
    CHECK(click_pictures(screen) == 1);
    screen.visit.perform(Compare{Comparison{"two words"}});
    screen.visit.tokens({Box::second, "two words", {0, 1, 4}, {"word0", "word1", "end"}, 3});
    screen.visit.perform(OpenLens{"compare"});
    CHECK(click_pictures(screen, {"compare/map/first", "compare/map/second"}) == 5);
}
