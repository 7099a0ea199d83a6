// Tests a lens alone, as a frame in another page shows it: its layout, its locks, and what it tells.
#include <catch_amalgamated.hpp>

#include "subjects/worked/commands.hpp"
#include "subjects/worked/state.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

double first_of_x(const Screen& screen) { return worked_of(screen.visit.state()).x.at(0, 0); }

}  // namespace

TEST_CASE("a lens alone has the whole window but its own row, at any size") {
    for (const ImVec2 size : {ImVec2{1200, 800}, ImVec2{700, 400}, ImVec2{360, 500}}) {
        Screen screen(size);
        screen.frame.show_lens_alone();
        screen.draw(4);
        for (const char* absent :
             {"panel/rail", "panel/tabs", "panel/status", "lens-menu", "panel/inspector"})
            CHECK_FALSE(screen.shows(absent));
        const auto lens = ui::landmarks().at("panel/lens");
        CHECK(lens.min.y == 46);
        CHECK(lens.max.x == size.x);
        CHECK(lens.max.y == size.y);
        screen.visit.perform(Pin{RunCell{Stage::x, 0, 1}});
        screen.draw(5);
        const auto sheet = ui::landmarks().at("panel/inspector");
        const auto beside = ui::landmarks().at("panel/lens");
        // It covers nothing: on the right if there is room, otherwise below.
        CHECK((sheet.min.x >= beside.max.x || sheet.min.y >= beside.max.y));
        screen.click("whole");
        CHECK(screen.page.wholes == 1);
    }
}

TEST_CASE("what is locked but for some names can be looked at, and only these change") {
    Screen screen;
    Visit& visit = screen.visit;
    visit.lock_all_but({"W_K", "T"});
    const double before = first_of_x(screen);
    visit.perform(SetCell{{Stage::x, 0, 0}, 9});
    CHECK(first_of_x(screen) == before);
    CHECK(screen.page.notices.back() == "X is locked: this view lets you change only W_K, T.");
    visit.perform(SetCell{{Stage::w_k, 0, 0}, 9});
    CHECK(worked_of(visit.state()).w_k.at(0, 0) == 9);
    visit.perform(Select{{0, 0, 2, 1}});
    visit.perform(Pin{RunCell{Stage::weight, 2, 1}});
    CHECK(visit.state().selection.query == 2);
    CHECK(visit.state().pin);
    const std::string_view lens = visit.state().lens;
    visit.perform(OpenLens{"softmax"});
    CHECK(visit.state().lens == lens);
    visit.perform(OpenSubject{"training"});
    CHECK(visit.state().subject == "worked");
    for (int step = 0; step < 3; ++step) visit.undo();  // the pin, the selection, the number
    CHECK(worked_of(visit.state()).w_k.at(0, 0) == 1);
    // A link is the teacher's, and shows anything.
    visit.open_fragment("v=1&lens=softmax");
    CHECK(visit.state().lens == "softmax");
    visit.lock_all_but({});
    visit.perform(SetCell{{Stage::w_k, 0, 0}, 9});
    CHECK(screen.page.notices.back() == "W_K is locked: nothing can be changed in this view.");
}

TEST_CASE("the choice is told with its words, and the pinned number with its value") {
    Screen screen;
    CHECK_FALSE(screen.frame.chosen().value);
    screen.visit.perform(Select{{0, 0, 1, 0}});
    screen.visit.perform(Pin{RunCell{Stage::x, 0, 1}});
    screen.draw(3);
    const Frame::Chosen chosen = screen.frame.chosen();
    CHECK(chosen.subject == "worked");
    CHECK(chosen.query_token == "sat");
    CHECK(chosen.key_token == "cat");
    CHECK(chosen.cell == "X.0.1");
    REQUIRE(chosen.value);
    CHECK(*chosen.value == 0.5);
}
