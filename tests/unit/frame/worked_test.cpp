// Tests the worked example's page: the text above its matrices, their places, and editing their cells.
#include <imgui_internal.h>

#include <algorithm>
#include <catch_amalgamated.hpp>

#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("the wheel scrolls the page over an input, until the input was clicked or Ctrl is held") {
    Screen screen({1440, 500});  // lower than the lens
    screen.draw(3);
    const auto value = [&] { return worked_of(screen.visit.state()).x.at(1, 1); };
    const auto turn = [&](float notches) {
        ImGui::GetIO().AddMouseWheelEvent(0, notches);
        screen.draw(2);
    };
    const float top = rect("x/1/1").top;
    screen.hover("x/1/1");
    turn(-1);
    CHECK(value() == 0.9);
    CHECK(rect("x/1/1").top < top);
    turn(1);
    CHECK(rect("x/1/1").top == top);
    screen.hold(ImGuiMod_Ctrl, [&] { turn(1); });
    CHECK(value() == Catch::Approx(1.0));
    screen.click("x/1/1");
    screen.draw(60);  // scrolling has ended
    turn(-1);
    CHECK(value() == Catch::Approx(0.9));
    CHECK(rect("x/1/1").top == top);
}

TEST_CASE("the output stays in view, with a mask, a soft cap or a fourth token, and so do the bars") {
    Screen screen;
    const auto in_view = [&](const std::string& last) {
        screen.draw(3);
        INFO(last);
        CHECK(rect(last).bottom <= rect("panel/lens").bottom);
        CHECK(rect(last).right <= rect("panel/lens").right);
    };
    const auto long_bars = [&](const std::string& last) {
        in_view(last);
        CHECK(rect(last).right - rect(last).left >= 100);
    };
    in_view("output/2/3");
    long_bars("bar/2");
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    in_view("output/2/3");
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::none});
    screen.visit.perform(SetSoftcap{2});
    in_view("output/2/3");
    screen.visit.perform(SetSoftcap{0});
    screen.visit.perform(Resize{Axis::queries, 4});
    in_view("output/3/3");
    long_bars("bar/3");
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    in_view("output/3/3");
    screen.visit.perform(Resize{Axis::queries, 3});
    screen.visit.perform(SetSoftcap{2});
    in_view("output/2/3");
    screen.visit.perform(Resize{Axis::queries, 4});
    in_view("output/3/3");
}

TEST_CASE("cells grow in a window with room for them") {
    const auto width = [](ImVec2 size) {
        Screen screen(size);
        screen.draw(3);
        CHECK(rect("output/2/3").bottom <= rect("panel/lens").bottom);
        return rect("x/0/0").right - rect("x/0/0").left;
    };
    CHECK(width({2560, 1386}) > 1.25f * width({1440, 846}));
}

TEST_CASE("a legend explains the marks of misprints, as long as there are any") {
    Screen screen;
    screen.draw(3);
    CHECK(screen.shows("legend"));
    screen.visit.perform(SetCell{{Stage::x, 0, 0}, 2});
    screen.draw(2);
    CHECK_FALSE(screen.shows("legend"));
    screen.visit.undo();
    screen.draw(2);
    CHECK(screen.shows("legend"));
    screen.visit.perform(OpenPreset{PresetId::seeded_normal});
    screen.draw(2);
    CHECK_FALSE(screen.shows("legend"));
}

TEST_CASE("a tiny number is rounded like its neighbours, so that its matrix keeps its width") {
    Screen screen;
    screen.draw(3);
    const auto width = [] { return rect("x/0/3").right - rect("x/0/0").left; };
    const float before = width();
    screen.visit.perform(SetCell{{Stage::x, 0, 0}, -0.0049});
    screen.draw(2);
    CHECK(width() == before);
}

TEST_CASE("cells stay where they are when one of them is edited") {
    for (const float width : {390.0f, 1440.0f}) {
        Screen screen({width, 846});
        for (const PresetInfo& example : presets()) {
            INFO(example.key << ", width " << width);
            screen.visit.perform(OpenPreset{example.id});
            screen.draw(3);
            const Stage input = inputs_of(worked_of(screen.visit.state()).source).front();
            const std::string cell = input == Stage::x ? "x/0/0" : input == Stage::q ? "q/0/0" : "raw/0/0";
            const float top = rect(cell).top;
            screen.visit.perform(SetCell{{input, 0, 0}, 0.25});
            screen.draw(3);
            CHECK(rect(cell).top == top);
        }
    }
}

TEST_CASE("the list of examples shows its first and last rows in full") {
    Screen screen;
    screen.draw(3);
    screen.click("preset");
    const auto& open = ImGui::GetCurrentContext()->OpenPopupStack;
    REQUIRE(open.Size == 1);
    const ImRect inside = open[0].Window->InnerClipRect;
    const Rect first = rect("preset/A"), last = rect("preset/G");
    CHECK(first.top >= inside.Min.y);
    CHECK(last.bottom <= inside.Max.y);
}

TEST_CASE("an input can be typed into, dragged and turned; a computed cell cannot") {
    Screen screen;
    screen.draw(3);
    const auto value = [&](Index row, Index col) { return worked_of(screen.visit.state()).x.at(row, col); };
    screen.click("x/0/1");
    screen.type("0.7");
    screen.press(ImGuiKey_Enter);
    CHECK(value(0, 1) == 0.7);
    screen.click("x/1/1");
    ImGui::GetIO().AddMouseWheelEvent(0, 1);
    screen.draw(2);
    CHECK(value(1, 1) == Catch::Approx(1.0));
    for (int i = 0; i < 6; ++i) screen.visit.undo();
    CHECK(screen.visit.state().of<WorkedState>() == default_state().of<WorkedState>());
}

TEST_CASE("typing into a computed cell says what it is computed from, and a button changes that instead") {
    Screen screen;
    screen.draw(3);
    screen.click("q/1/1");
    screen.type("0.7");
    screen.press(ImGuiKey_Enter);
    CHECK(screen.visit.state().of<WorkedState>() == default_state().of<WorkedState>());
    screen.click("instead");
    CHECK(worked_of(screen.visit.state()).source == Source::qkv);
    CHECK(screen.shows("typing"));
    screen.press(ImGuiKey_Enter);
    CHECK(worked_of(screen.visit.state()).q.at(1, 1) == 0.7);
    CHECK_FALSE(screen.shows("instead"));
    screen.visit.undo();
    screen.visit.undo();
    CHECK(screen.visit.state().of<WorkedState>() == default_state().of<WorkedState>());
    screen.draw(3);
    screen.click("weight/0/0");
    screen.type("1");
    CHECK(screen.shows("instead"));
    screen.press(ImGuiKey_Escape);
    CHECK_FALSE(screen.shows("instead"));
    screen.click("weight/0/0");
    screen.type("1");
    screen.click("subject/worked");
    CHECK_FALSE(screen.shows("instead"));
}

TEST_CASE("operators stay with their operands at every width") {
    const std::string all[] = {"k", "raw", "scaled", "masked", "weight", "v", "output"};
    const bool of_sentence = GENERATE(false, true);
    for (float width = 320; width <= 1900; width += 79) {
        INFO("width " << width << (of_sentence ? ", a sentence" : ", the example"));
        Screen screen({width, 900});
        if (of_sentence) {
            screen.open_sentence(4);
        } else {
            screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
        }
        screen.visit.perform(OpenLens{"ladder"});
        screen.settle();
        int signs = 0;
        for (const std::string& name : all) {
            if (!screen.shows(name + "/0/0")) continue;
            INFO(name);
            REQUIRE(screen.shows("sign/" + name));
            ++signs;
            const Rect sign = rect("sign/" + name), cell = rect(name + "/0/0");
            CHECK(sign.right <= cell.left);
            CHECK(sign.left >= rect("panel/lens").left);
            CHECK(sign.bottom > cell.top);
        }
        CHECK(signs >= 5);
    }
}

TEST_CASE("sentence, steps and bars describe one word, and the word under the cursor") {
    Screen screen;
    screen.frame.lessons().open_text(
        "---\ntitle: T\nneeds: nothing\n---\n## S\n“{word(query)}” wants to know what?");
    const auto status = [] {
        const auto& nodes = ui::semantics();
        const auto node = std::ranges::find(nodes, ui::Role::status, &ui::Node::role);
        REQUIRE(node != nodes.end());
        return node->name;
    };
    const auto says = [](const std::string& part) {
        return std::ranges::any_of(
            ui::semantics(), [&](const ui::Node& node) { return node.name.find(part) != std::string::npos; });
    };
    screen.visit.perform(OpenSubject{worked_subject});
    screen.visit.perform(OpenLens{"ladder"});
    screen.settle();
    CHECK(status().starts_with("“mat” looks most at "));
    CHECK(says("Where “mat” looks"));
    CHECK(says("“mat” wants to know"));
    screen.hover("weight/0/1");
    screen.draw(2);
    CHECK(status().starts_with("“cat” looks most at "));
    CHECK(says("Where “cat” looks"));
    CHECK(says("“cat” wants to know"));
    CHECK(screen.frame.spoken().starts_with("“mat” "));
    screen.visit.perform(OpenLens{"overview"});
    ImGui::GetIO().AddMousePosEvent(-1, -1);
    screen.settle();
    CHECK(status().starts_with("Reading “mat”, "));
    const float below = rect("spoken").top;
    screen.hover("map/0/1");
    screen.draw(2);
    CHECK(status().starts_with("Reading “cat”, "));
    CHECK(rect("spoken").top == below);
    ImGui::GetIO().AddMousePosEvent(-1, -1);
    screen.draw(3);
    CHECK(status().starts_with("Reading “mat”, "));
}
