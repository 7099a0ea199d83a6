// Checks that the palette finds things by their names.
#include "frame/palette.hpp"

#include <catch_amalgamated.hpp>

#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

std::vector<PaletteEntry> found(Visit& visit, std::string_view text) {
    return found_in(palette_entries(visit), text, 10);
}

}  // namespace

TEST_CASE("the palette finds lenses, subjects, examples, heads, tokens, settings and commands") {
    Screen screen;
    screen.open_sentence();
    const auto act = [&](std::string_view text, std::string_view kind) {
        const auto all = found(screen.visit, text);
        INFO(text);
        REQUIRE_FALSE(all.empty());
        CHECK(all[0].kind == kind);
        all[0].act(screen.visit);
    };
    act("ladder", "lens");
    CHECK(screen.visit.state().lens == "ladder");
    act("HEAD 1.2", "head");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    act("word4", "token");
    CHECK(screen.visit.state().selection.query == 4);
    act("map of contribution", "setting");
    CHECK(looks_of(screen.visit.state()).map.stage == Stage::contribution);
    act("Your tensors", "subject");
    CHECK(screen.visit.state().subject == tensors_subject);
    act("example d", "Example");
    CHECK(screen.visit.state().subject == worked_subject);
    CHECK(worked_of(screen.visit.state()).preset == PresetId::causal_row);
    act("text size: 150", "setting");
    CHECK(screen.page.text_size == 150);
    act("undo", "command");
    CHECK(worked_of(screen.visit.state()).preset == PresetId::cat_sat_mat);
    CHECK(found(screen.visit, "no such thing at all").empty());
    CHECK(found(screen.visit, "").size() == 10);
}

TEST_CASE("the palette is opened, searched and left by the keyboard") {
    Screen screen;
    screen.open_sentence();
    screen.frame.open_palette();
    screen.draw(3);
    REQUIRE(screen.shows("palette"));
    screen.type("head 0.2");
    CHECK(screen.shows("palette/0"));
    screen.press(ImGuiKey_Enter);
    CHECK(screen.visit.state().selection.head == 2);
    CHECK_FALSE(screen.shows("palette"));
    screen.frame.open_palette();
    screen.draw(3);
    screen.type("head");
    screen.press(ImGuiKey_DownArrow);
    screen.press(ImGuiKey_Escape);
    CHECK_FALSE(screen.shows("palette"));
    CHECK(screen.visit.state().selection.head == 2);
}
