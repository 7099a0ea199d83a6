// Checks what stands above the pictures, in the same order in every lens: headline, hint, things to try,
// settings. Pictures begin at the same height and at the same left edge, and what does not fit is behind More
// or behind the chosen head's name.
#include <catch_amalgamated.hpp>
#include <set>

#include "support/translator.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Points of a window of 1440 × 900: the page's own line of controls is above the canvas.
constexpr float above_canvas = 54, lowest_top = 230, inset = 22;

struct Corner {
    float left = 1e9f, top = 1e9f;
};
// Returns the corner of the first cards, relative to the window and to the lens.
Corner first_cards() {
    Corner first;
    const auto is_card = [](const std::string& name) {
        return name.starts_with("card/") && std::ranges::count(name, '/') < 3;
    };
    for (const auto& [name, place] : ui::landmarks())
        if (is_card(name)) first.top = std::min(first.top, place.min.y);
    for (const auto& [name, place] : ui::landmarks())
        if (is_card(name) && place.min.y < first.top + 2)
            first.left = std::min(first.left, place.min.x - rect("panel/lens").left);
    first.top += above_canvas;
    return first;
}

const ui::Node& node_of(const std::string& key) {
    INFO("the node " << key);
    const auto node = std::ranges::find(ui::semantics(), key, &ui::Node::key);
    REQUIRE(node != ui::semantics().end());
    return *node;
}

}  // namespace

TEST_CASE("the pictures of every lens begin at the same height and at the same left edge") {
    // The ladder's matrices stand without a card, below the example's introduction. Curves has a line more:
    // the step and the loss of its run.
    const std::set<std::string_view> others{"ladder", "curves"};
    Screen screen;
    const auto look = [&](std::string_view subject) {
        for (const LensEntry& lens : lens_list()) {
            if (others.contains(lens.key)) continue;
            INFO(subject << " through " << lens.key);
            screen.visit.perform(OpenSubject{subject});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            REQUIRE(subject_in(screen.visit).attention());
            if (lens_in(screen.visit).missing(subject_in(screen.visit))) continue;
            const Corner first = first_cards();
            CHECK(first.top <= lowest_top);
            CHECK(first.left == inset);
        }
    };
    look("worked");
    screen.open_sentence(8);
    look("sentence");
    put(screen.visit, {{"Q.npy", normal_npy({2, 3, 6, 4}, 1)},
                       {"K.npy", normal_npy({2, 3, 6, 4}, 2)},
                       {"V.npy", normal_npy({2, 3, 6, 4}, 3)}});
    screen.settle();
    look("tensors");
    screen.train_some();
    look("training");
}

TEST_CASE("settings that do not fit on their line are behind More, for the mouse and for the keyboard") {
    Screen screen;
    screen.settle();
    constexpr const char* more = "more/worked/settings";
    const State before = screen.visit.state();
    CHECK_FALSE(screen.shows("size/n/more"));
    CHECK(node_of(more).name == "More settings");
    CHECK(node_of(more).opens);
    CHECK(node_of(more).on == false);
    CHECK(rect(more).top == rect("source/X · W").top);
    screen.click(more);
    CHECK(node_of(more).on == true);
    REQUIRE(screen.shows("size/n/more"));
    CHECK(rect("size/n/more").top > rect(more).bottom);
    CHECK(screen.visit.state() == before);
    // It stays open while another lens is looked at.
    screen.visit.perform(OpenLens{"overview"});
    screen.settle();
    screen.visit.perform(OpenLens{"ladder"});
    screen.settle();
    screen.click("size/n/more");
    CHECK(worked_of(screen.visit.state()).query_labels.size() == 4);
    screen.click(more);
    CHECK_FALSE(screen.shows("size/n/more"));
    for (const bool open : {true, false}) {
        ui::ask({.key = more});  // what its element does under the keyboard
        screen.draw(4);
        CHECK(screen.shows("size/n/more") == open);
    }
}

TEST_CASE("the chosen head's name opens what is told of it, and the choice of another head") {
    Screen screen;
    screen.open_sentence();
    CHECK_FALSE(screen.shows("heading"));
    CHECK(node_of("head-name").opens);
    screen.click("head-name");
    REQUIRE(screen.shows("panel/head"));
    CHECK(node_of("head-name").on == true);
    CHECK(screen.shows("heading"));
    CHECK(node_of("head-choice/0/0").on == true);
    screen.click("head-choice/1/2");
    CHECK(screen.visit.state().selection.layer == 1);
    CHECK(screen.visit.state().selection.head == 2);
    CHECK(node_of("head-choice/1/2").on == true);
    CHECK(screen.shows("panel/head"));
    screen.press(ImGuiKey_Escape);
    CHECK_FALSE(screen.shows("panel/head"));
    screen.visit.undo();
    CHECK(screen.visit.state().selection.layer == 0);
    ui::ask({.key = "head-name"});
    screen.draw(4);
    CHECK(screen.shows("panel/head"));
}

TEST_CASE("beside another lens than its usual one, a subject's controls are in the row of tabs") {
    Screen screen;
    screen.visit.perform(OpenLens{"softmax"});
    screen.settle();
    const auto is_in_tabs = [&](const char* control) {
        return rect(control).bottom <= rect("panel/tabs").bottom;
    };
    CHECK(is_in_tabs("preset"));
    CHECK(is_in_tabs("adjust"));
    const float top = first_cards().top;
    screen.click("adjust");
    CHECK(node_of("adjust").on == true);
    CHECK(screen.shows("size/n/more"));
    CHECK(first_cards().top > top);
    screen.click("adjust");
    CHECK(first_cards().top == top);
    screen.open_sentence();
    CHECK(is_in_tabs("change"));
    screen.train_some();
    CHECK(is_in_tabs("training/go"));
}
