// Checks that a control just used stays in place, and that panels beside the lens can be folded away and
// restored.
#include "frame/steady.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "unit/frame/screen.hpp"
#include "widgets/controls.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

bool is_within(const Rect& inner, const Rect& outer) {
    return inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 &&
           inner.bottom <= outer.bottom + 1;
}

// Draws frames of a panel that scrolls, with what `content` draws below a filler.
void draw_panel(Steady& steady, float above, int frames, auto&& content) {
    for (; frames > 0; --frames) {
        ui::clear_landmarks();
        ui::clear_semantics();
        ImGui::NewFrame();
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({400, 400});
        ImGui::Begin("a panel", nullptr, ImGuiWindowFlags_NoTitleBar);
        ImGui::Dummy({100, above});
        content();
        steady.keep();
        ImGui::End();
        ImGui::Render();
    }
}

// Presses what the panel shows, and lets it go, a frame each. Returns where.
ImVec2 press_in_panel(const Screen& screen, const char* landmark, auto&& draw) {
    const ImVec2 at = screen.middle(landmark);
    ImGui::GetIO().AddMousePosEvent(at.x, at.y);
    draw(2);
    for (const bool down : {true, false}) {
        ImGui::GetIO().AddMouseButtonEvent(0, down);
        draw(1);
    }
    return at;
}

}  // namespace

TEST_CASE("a pressed item stays under the pointer while content above it grows and shrinks") {
    Screen screen;
    screen.draw();
    Steady steady;
    float above = 300, below = 900;
    const auto draw = [&](int frames) {
        draw_panel(steady, above, frames, [&] {
            ui::button("play", "Play");
            ImGui::Dummy({100, below});
        });
    };
    draw(3);
    const float before = rect("play").top;
    const ImVec2 at = press_in_panel(screen, "play", draw);
    for (const float now : {325.0f, 390.0f, 360.0f, 310.0f}) {
        above = now;
        draw(3);
        CHECK(std::abs(rect("play").top - before) < 1.5f);
    }
    // Also while there is little content below it.
    above = 390, below = 20;
    draw(3);
    CHECK(std::abs(rect("play").top - before) < 1.5f);
    below = 900;
    draw(3);
    CHECK(std::abs(rect("play").top - before) < 1.5f);
    above = 310;
    draw(3);
    ImGui::GetIO().AddMousePosEvent(at.x + 40, at.y + 40);
    draw(2);
    above = 350;
    draw(3);
    CHECK(rect("play").top > before + 30);
}

TEST_CASE("a button whose label changes keeps its place and its width") {
    Screen screen({1440, 1400});
    screen.open_sentence();
    screen.visit.perform(OpenLens{"tiles"});
    screen.settle();
    REQUIRE(screen.shows("tiles/play"));
    const Rect play = rect("tiles/play");
    screen.click("tiles/play");
    const Rect pause = rect("tiles/play");
    CHECK(play.left == pause.left);
    CHECK(play.right == pause.right);
    CHECK(play.top == pause.top);
    screen.visit.perform(OpenSubject{training_subject});
    screen.settle();
    const Rect train = rect("training/train"), step = rect("training/step");
    screen.click("training/train");
    screen.draw(2);
    REQUIRE(screen.shows("training/pause"));
    CHECK(rect("training/pause").right == train.right);
    CHECK(rect("training/step").left == step.left);
    screen.click("training/pause");
}

TEST_CASE("the panels beside the lens fold away, come back, and are remembered") {
    Screen screen;
    screen.open_sentence();
    screen.settle();
    const Rect lens = rect("panel/lens"), lenses = rect("fold/lenses"),
               explanations = rect("fold/explanations");
    screen.click("fold/lenses");
    CHECK_FALSE(screen.shows("panel/rail"));
    CHECK(rect("panel/lens").left == 0);
    CHECK(rect("fold/lenses").left == lenses.left);
    CHECK(screen.page.remembered.back() == "explanations ");
    screen.click("fold/explanations");
    CHECK_FALSE(screen.shows("panel/inspector"));
    CHECK(rect("panel/lens").right == 1440);
    CHECK(rect("fold/explanations").left == explanations.left);
    CHECK(screen.page.remembered.back() == "explanations folded");
    screen.click("fold/lenses");
    screen.click("fold/explanations");
    CHECK(rect("panel/lens").left == lens.left);
    CHECK(rect("panel/lens").right == lens.right);

    Screen later;
    later.frame.fold({.lenses = true, .explanations = true});
    later.draw(3);
    CHECK_FALSE(later.shows("panel/rail"));
    CHECK_FALSE(later.shows("panel/inspector"));
}

TEST_CASE("groups of lenses fold, except the open lens's") {
    Screen screen;
    screen.open_sentence();
    REQUIRE(screen.shows("lens/softmax"));
    screen.click("group/understand");
    CHECK_FALSE(screen.shows("lens/softmax"));
    CHECK(screen.shows("lens/overview"));
    CHECK(screen.page.remembered.back() == "groups 2");
    screen.visit.perform(OpenLens{"softmax"});
    screen.draw(2);
    CHECK(screen.shows("lens/softmax"));
    screen.click("group/understand");  // it contains the open lens
    CHECK(screen.shows("lens/softmax"));
    screen.visit.perform(OpenLens{"overview"});
    screen.draw(2);
    CHECK_FALSE(screen.shows("lens/softmax"));
    screen.click("group/understand");
    CHECK(screen.shows("lens/softmax"));

    Screen first;
    first.frame.greet();
    first.draw(3);
    CHECK(first.shows("lens/overview"));
    CHECK_FALSE(first.shows("lens/softmax"));
    CHECK_FALSE(first.shows("lens/heads"));
}

// The stage of these windows, in points, at 125, 150 and 200 %: the page's bar takes some of it.
TEST_CASE("at a larger size, all panels and their buttons are in the window, in every lens") {
    const ImVec2 size = GENERATE(ImVec2{1152, 650}, ImVec2{1024, 510}, ImVec2{960, 530}, ImVec2{853, 410},
                                 ImVec2{720, 320}, ImVec2{640, 250});
    Screen screen(size);
    screen.open_sentence();
    const Rect window{0, 0, size.x, size.y};
    for (const LensEntry& lens : lens_list()) {
        INFO(lens.key << " at " << size.x << " × " << size.y);
        screen.visit.perform(OpenLens{lens.key});
        screen.draw(4);
        for (const auto& [name, place] : ui::landmarks()) {
            INFO(name);
            if (name.starts_with("panel/") || name.starts_with("subject/") || name == "lens-menu")
                CHECK(is_within({place.min.x, place.min.y, place.max.x, place.max.y}, window));
        }
        const Rect panel = rect("panel/lens");
        CHECK(panel.bottom - panel.top > 100);
        CHECK(panel.right - panel.left > 300);
    }
}

TEST_CASE("a truncated name is shown in full under the cursor") {
    Screen screen;
    screen.draw();
    const std::string name = "a name that is much too long for its place";
    const auto draw = [&](ImVec2 mouse) {
        ImGui::GetIO().AddMousePosEvent(mouse.x, mouse.y);
        std::optional<ui::CutText> cut;
        for (int i = 0; i < 3; ++i) {
            ImGui::NewFrame();
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize({400, 400});
            ImGui::Begin("a panel", nullptr, ImGuiWindowFlags_NoTitleBar);
            ui::draw_text_within(ImGui::GetWindowDrawList(), {50, 100}, 80, ui::theme().text, name);
            ui::draw_text_within(ImGui::GetWindowDrawList(), {50, 200}, 80, ui::theme().text, "short");
            cut = ui::take_cut_text();
            ImGui::End();
            ImGui::Render();
        }
        return cut ? cut->text : "";
    };
    CHECK(draw({70, 108}) == name);
    CHECK(draw({70, 208}).empty());
    CHECK(draw({200, 108}).empty());
}

TEST_CASE("a thing to try gives way to what it adds above itself, so that the headline stays") {
    Screen screen({1440, 900});
    screen.draw();
    Steady steady;
    float above = 100;
    const auto draw = [&](int frames) {
        draw_panel(steady, above, frames, [] {
            {
                const ui::Row tries("try", ui::to_try);
                if (ui::next_button("Do it")) ui::button("try/it", "Do it");
            }
            ImGui::Dummy({100, 900});
        });
    };
    draw(3);
    const float before = rect("try/it").top;
    press_in_panel(screen, "try/it", draw);
    above = 140;
    draw(3);
    CHECK(std::abs(rect("try/it").top - before - 40) < 1.5f);
}
