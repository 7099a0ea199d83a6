// Tests the three steps that introduce a newcomer, and that they can be dismissed for good.
#include <catch_amalgamated.hpp>

#include "app/format.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("the three steps use the words and numbers on the screen") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(OpenSubject{sentence_subject});
    screen.visit.perform(Select{{1, 2, 4, {}, {}}});
    screen.settle();
    const TextRun& run = *sentence_in(screen.visit).run();
    const auto steps = start_steps(run, screen.visit.state().selection);
    REQUIRE(steps);
    const Record& record = run.record_at(1);
    const std::vector<float> weights = record.weights(2, 4);
    const Index most = std::ranges::max_element(weights) - weights.begin();
    const std::string answers = "“word" + std::to_string(most) + "”";
    CHECK((*steps)[0].text.starts_with("“word4” wants to know"));
    CHECK((*steps)[0].text.find("list of " + std::to_string(record.d_k()) + " numbers") != std::string::npos);
    CHECK((*steps)[1].text.find(answers + " scores " +
                                fixed(static_cast<double>(record.cell(Stage::raw, 2, 4, most)), 2) + ".") !=
          std::string::npos);
    const auto share = static_cast<double>(weights[static_cast<std::size_t>(most)]);
    CHECK((*steps)[2].text.find(percent(share) + " of it comes from " + answers) != std::string::npos);
}

TEST_CASE("the three steps are shown to newcomers only, until they are closed") {
    for (const float width : {1440.0f, 390.0f}) {
        Screen screen({width, 846});
        screen.open_sentence();
        screen.visit.perform(OpenSubject{sentence_subject});
        screen.settle();
        CHECK_FALSE(screen.shows("start"));
        screen.frame.greet();
        screen.draw(3);
        REQUIRE(screen.shows("start"));
        std::vector<Rect> places;
        const auto press = [&](const char* button) {
            places.push_back(rect("start/next"));
            screen.click(button);
            screen.draw(30);  // longer than the time between the clicks of a double click
        };
        for (const char* button : {"start/next", "start/next", "start/back", "start/next"}) press(button);
        CHECK(screen.page.remembered.empty());
        press("start/close");
        for (const Rect& place : places) {
            CHECK(place.left == places[0].left);
            CHECK(place.top == places[0].top);
        }
        CHECK(screen.page.remembered == std::vector<std::string>{"start done"});
        CHECK_FALSE(screen.shows("start"));
    }
}

TEST_CASE("a double click on Next is one step, and the introduction can be found again by name") {
    Screen screen;
    screen.open_sentence();
    screen.settle();
    screen.frame.greet();
    screen.draw(3);
    const auto title = [] {
        for (const ui::Node& node : ui::semantics())
            if (node.role == ui::Role::heading &&
                (node.name == "A word asks" || node.name == "Every word answers" ||
                 node.name == "The answers are mixed"))
                return node.name;
        return std::string();
    };
    const auto double_click = [&](const char* button) {
        screen.draw(30);
        screen.click(button);
        screen.click(button);
        screen.draw(3);
    };
    CHECK(title() == "A word asks");
    double_click("start/next");
    CHECK(title() == "Every word answers");
    double_click("start/next");
    CHECK(title() == "The answers are mixed");
    double_click("start/next");
    REQUIRE(title() == "The answers are mixed");
    screen.draw(30);
    screen.click("start/close");
    REQUIRE(title().empty());
    for (const char* word : {"help", "introduction"}) {
        INFO(word);
        screen.frame.open_palette();
        screen.draw(3);
        screen.type(word);
        screen.press(ImGuiKey_Enter);
        screen.draw(3);
        CHECK(title() == "A word asks");
        screen.draw(30);
        screen.click("start/close");
    }
}

TEST_CASE("a network that learns has no introduction, and asking for it there leads to the example") {
    Screen screen({390, 844});
    screen.frame.greet();
    screen.visit.perform(OpenSubject{training_subject});
    TrainingPlan plan = training_presets()[0].plan;
    plan.d_model = plan.context = 16;
    plan.batch = 1;
    plan.steps = 4;
    screen.visit.perform(SetTrainingPlan{plan});
    screen.draw(3);
    CHECK_FALSE(screen.shows("start"));
    const Rect before = rect("training/train");
    screen.click("training/train");
    screen.settle();
    CHECK_FALSE(screen.shows("start"));
    const std::string now = screen.shows("training/pause") ? "training/pause" : "training/extend";
    CHECK(rect(now).top == before.top);
    screen.frame.open_palette();
    screen.draw(3);
    screen.type("introduction");
    screen.press(ImGuiKey_Enter);
    screen.draw(3);
    CHECK(screen.visit.state().subject == worked_subject);
    CHECK(screen.shows("start"));
}
