// Tests the three steps that a newcomer is told, and that they step aside for good.
#include <catch_amalgamated.hpp>

#include "app/format.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("the three steps are told in the words and numbers on the screen") {
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
        CHECK_FALSE(screen.shows("start/back"));
        screen.click("start/next");
        screen.click("start/next");
        CHECK_FALSE(screen.shows("start/next"));
        screen.click("start/back");
        screen.click("start/next");
        CHECK(screen.page.remembered.empty());
        screen.click("start/close");
        CHECK(screen.page.remembered == std::vector<std::string>{"start done"});
        CHECK_FALSE(screen.shows("start"));
    }
}
