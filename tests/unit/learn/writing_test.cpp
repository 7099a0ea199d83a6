// Tests the editor of lessons: it adds views and numbers of the page, says what is wrong, and saves.
#include <catch_amalgamated.hpp>

#include "app/link.hpp"
#include "learn/naming.hpp"
#include "learn/numbers.hpp"
#include "learn/printed.hpp"
#include "learn/wording.hpp"
#include "lesson/lesson.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/frame/screen.hpp"
#include "unit/lenses/own_cells.hpp"
#include "widgets/page_field.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

const std::string& text_in(Screen& screen) { return screen.frame.lessons().writer().text(); }

std::string saved(const Screen& screen) {
    return {reinterpret_cast<const char*>(screen.page.downloaded_bytes.data()),
            screen.page.downloaded_bytes.size()};
}

// Presses a landmark, and returns what is selected in the text then; a selection is given for one frame.
std::string selected_by(Screen& screen, const std::string& landmark) {
    const ImVec2 at = screen.middle(landmark);
    std::string selected;
    const auto draw = [&] {
        screen.draw();
        for (const ui::PageField& field : ui::page_fields())
            if (const auto& range = field.select)
                selected = text_in(screen).substr(range->begin, range->end - range->begin);
    };
    ImGui::GetIO().AddMousePosEvent(at.x, at.y);
    draw();
    for (const bool is_down : {true, false}) {
        ImGui::GetIO().AddMouseButtonEvent(ImGuiMouseButton_Left, is_down);
        for (int frame = 0; frame < 2; ++frame) draw();
    }
    return selected;
}

}  // namespace

TEST_CASE("a number that is pinned has a name, which gives the number that the inspector shows") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    Attention& attention = *subject_in(screen.visit).attention();
    const std::pair<RunCell, const char*> named[] = {{{Stage::weight, 1, 0}, "weight(\"sat\", \"cat\")"},
                                                     {{Stage::raw, 2, 1}, "score(\"mat\", \"sat\")"},
                                                     {{Stage::q, 0, 3}, "q(\"cat\", 3)"},
                                                     {{Stage::k, 1, 2}, "k(\"sat\", 2)"},
                                                     {{Stage::output, 2, 0}, "out(\"mat\", 0)"},
                                                     {{Stage::w_k, 2, 1}, "W_K(2, 1)"}};
    const learn::StepSoFar step{screen.visit.state(), {}};
    for (const auto& [cell, name] : named) {
        INFO(name);
        CHECK(learn::name_of(attention, cell) == name);
        const auto expression = lesson::parse_expression(name);
        REQUIRE(expression);
        const auto value = lesson::evaluate(*expression, learn::numbers_of(screen.visit, step));
        REQUIRE(value);
        CHECK(std::get<double>(value->value) == explained(screen.visit, cell)->f64);
    }
    CHECK(learn::name_of(attention, MapSum{.total = MapTotal::row_entropy, .at = 1}) == "entropy(\"sat\")");
    CHECK(learn::name_of(attention, MapSum{.total = MapTotal::column_total}).empty());
}

TEST_CASE("what a check compares is said in words, with the tokens at its positions") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    const Attention& attention = *subject_in(screen.visit).attention();
    const auto words = [&](const char* text) {
        const auto expression = lesson::parse_expression(text);
        REQUIRE(expression);
        return learn::in_words(*expression, &attention);
    };
    CHECK(words("weight(1, 0) > 80%") == "“sat” gives “cat”");
    CHECK(words("weight(\"sat\", \"cat\") > 80%") == "“sat” gives “cat”");
    CHECK(words("v(2, 1) = 0") == "v of “mat”, component 1");
    CHECK(words("weight(1, 9) > 0") == "“sat” gives 9");  // there is no tenth key
    CHECK(words("weight(1, 0) + weight(1, 2) > 0.5") == "weight(1, 0) + weight(1, 2) > 0.5");
    // A number of a lens is called as in its explanation.
    screen.visit.perform(OpenLens{"scale"});
    screen.settle();
    const auto of_lens = lesson::parse_expression("scale.measure(\"max_weight\", 0) > 99.9%");
    REQUIRE(of_lens);
    const auto cell = learn::lens_number_in(*subject_in(screen.visit).attention(), *of_lens);
    REQUIRE(cell);
    CHECK(why(screen.visit, *cell)->title == "Largest weight of the row");
}

TEST_CASE("a lesson is written beside the page, tried, and saved") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    screen.frame.lessons().write();
    screen.draw(3);
    REQUIRE(screen.shows("lesson/write/text"));
    CHECK(screen.shows("lesson/write/fault/0"));  // it asks nothing yet
    CHECK(text_in(screen).starts_with("---\ntitle:"));
    screen.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
    screen.draw(2);
    screen.click("lesson/write/view");
    screen.click("lesson/write/check");
    screen.draw(2);
    // The pinned number is the author's, who would give an answer away by it.
    CHECK(text_in(screen).find("```view\nv=1\n```") != std::string::npos);
    // It asks for more than the 0.363 that it is now.
    CHECK(
        text_in(screen).find("weight(\"sat\", \"cat\") > 37% | It is {weight(\"sat\", \"cat\"):%} so far.") !=
        std::string::npos);
    CHECK(text_in(screen).find("is more than 37 %.\n") != std::string::npos);
    CHECK(screen.shows("lesson/write/fine"));
    screen.click("lesson/write/save");
    CHECK(screen.page.downloaded == "my-lesson.md");
    CHECK(saved(screen) == text_in(screen));
    screen.click("lesson/write/print");
    CHECK(screen.page.downloaded == "my-lesson.html");
    CHECK(saved(screen).find("What to do first") != std::string::npos);
    CHECK(std::ranges::any_of(screen.page.remembered,
                              [](const std::string& each) { return each.starts_with("lesson-draft ---"); }));
    screen.click("lesson/write/try");
    screen.settle();
    REQUIRE(screen.shows("lesson/title"));
    CHECK(screen.frame.lessons().run().title() == "My lesson");
    // The link carries the whole lesson.
    Screen other;
    other.visit.start(to_fragment(screen.visit.state()));
    other.draw(3);
    CHECK(other.frame.lessons().run().title() == "My lesson");
    screen.frame.lessons().write();
    screen.draw(3);
    CHECK(text_in(screen).find("title: My lesson") != std::string::npos);
    screen.click("lesson/write/close");
    CHECK_FALSE(screen.shows("lesson/write/text"));
}

TEST_CASE("a draft stays while other lessons are opened, and their texts can be taken") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    learn::LessonPanel& lessons = screen.frame.lessons();
    lessons.write();
    screen.draw(3);
    screen.click("lesson/write/view");
    const std::string draft = text_in(screen);
    const std::string other = "---\ntitle: Another\nneeds: example\n---\n## Look\nWhat is it?\n";
    lessons.open_text(other);
    screen.settle();
    REQUIRE(screen.shows("lesson/title"));
    lessons.write();
    screen.draw(3);
    CHECK(text_in(screen) == draft);
    screen.click("lesson/write/take");
    CHECK(text_in(screen) == other);
    screen.click("lesson/write/before");
    CHECK(text_in(screen) == draft);
    screen.click("lesson/write/new");
    CHECK(text_in(screen) != draft);
    screen.click("lesson/write/before");
    CHECK(text_in(screen) == draft);
    // Trying the draft changes nothing in it.
    screen.click("lesson/write/try");
    screen.settle();
    lessons.write();
    screen.draw(3);
    CHECK(text_in(screen) == draft);
    CHECK_FALSE(screen.shows("lesson/write/take"));
}

TEST_CASE(
    "a lesson of two steps is written by buttons, with a question and a check, and tried step by step") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    learn::LessonPanel& lessons = screen.frame.lessons();
    lessons.write();
    screen.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
    screen.draw(3);
    screen.click("lesson/write/view");
    screen.click("lesson/write/ask");
    // The title of the new step is selected, to be typed over.
    CHECK(selected_by(screen, "lesson/write/step") == "What to do next");
    screen.click("lesson/write/view");
    screen.click("lesson/write/check");
    screen.draw(2);
    const std::string text = text_in(screen);
    INFO(text);
    const auto read = lesson::parse_lesson(std::as_bytes(std::span(text)));
    REQUIRE(read);
    REQUIRE(read->steps.size() == 2);
    REQUIRE(read->steps[0].asks.size() == 1);
    // The weight is 0.363.
    CHECK(lesson::to_text(read->steps[0].asks[0].answer) == "weight(\"sat\", \"cat\") ± 0.01");
    CHECK(read->steps[0].checks.empty());
    CHECK(read->steps[1].checks.size() == 1);
    CHECK(read->steps[1].view);
    CHECK(screen.shows("lesson/write/fine"));
    screen.click("lesson/write/link");
    Screen other;
    other.visit.start(screen.page.copied_link);
    other.settle();
    CHECK(other.frame.lessons().run().step(other.visit) == 0);
    CHECK(other.frame.lessons().run().title() == "My lesson");
    // The step of the caret is tried, and the end of it leads back to the text.
    screen.click("lesson/write/try");
    screen.settle();
    CHECK(lessons.run().step(screen.visit) == 1);
    screen.click("lesson/close");
    screen.draw(3);
    REQUIRE(screen.shows("lesson/write/text"));
    CHECK(text_in(screen) == text);
    // What is added goes to the end of the step with the caret.
    ui::page_typed("lesson/write/text", text, false, text.find("## What to do first") + 3);
    screen.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
    screen.draw(3);
    screen.click("lesson/write/check");
    screen.draw(2);
    const auto again = lesson::parse_lesson(std::as_bytes(std::span(text_in(screen))));
    REQUIRE(again);
    CHECK(again->steps[0].checks.size() == 1);
    CHECK(again->steps[1] == read->steps[1]);
}

TEST_CASE("a press on what is wrong with a lesson selects its line") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    learn::LessonPanel& lessons = screen.frame.lessons();
    lessons.writer().recall(
        "---\ntitle: T\nneeds: example\n---\n## S\nWhat now?\n```check\nweigth(1, 0) > 0 | No.\n```\n");
    lessons.write();
    screen.draw(3);
    CHECK(selected_by(screen, "lesson/write/fault/0") == "weigth(1, 0) > 0 | No.");
}

TEST_CASE("a lesson from elsewhere with unknown names opens, and says so") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    screen.frame.lessons().open_text(
        "---\ntitle: T\nneeds: example\n---\n## S\nWhat now?\n```check\nweigth(1, 0) > 0 | No.\n```\n");
    screen.settle();
    CHECK(screen.shows("lesson/title"));
    CHECK(screen.page.notices.back().find("line 8: ") != std::string::npos);
}

TEST_CASE("links are added to a step as its view, its solution, and wrong attempts, outside of fences") {
    Screen screen;
    screen.visit.perform(OpenSubject{worked_subject});
    screen.settle();
    screen.visit.perform(Pin{RunCell{Stage::weight, 1, 0}});
    screen.frame.lessons().write();
    screen.draw(3);
    screen.click("lesson/write/view");
    screen.click("lesson/write/check");
    screen.visit.perform(SetCell{{Stage::w_q, 0, 0}, 9});
    screen.draw(2);
    screen.click("lesson/write/view");
    screen.visit.perform(SetCell{{Stage::w_q, 0, 0}, -3});
    screen.draw(2);
    screen.click("lesson/write/view");
    const std::string text = text_in(screen);
    const auto read = lesson::parse_lesson(std::as_bytes(std::span(text)));
    INFO(text);
    REQUIRE(read);
    const lesson::Step& step = read->steps.front();
    CHECK(step.view);
    CHECK(step.checks.size() == 1);
    REQUIRE(step.solution);
    CHECK(parse_fragment(step.solution->link).state != parse_fragment(step.view->link).state);
    REQUIRE(step.wrongs.size() == 1);
    CHECK(step.wrongs[0].fails == 1);
}

TEST_CASE(
    "an author who tries a lesson is told of a step that passes at once, and of a solution that fails") {
    const auto told = [](const std::string& check, bool shows_solution) {
        Screen screen;
        screen.visit.perform(OpenSubject{worked_subject});
        screen.settle();
        learn::LessonPanel& lessons = screen.frame.lessons();
        lessons.writer().recall(
            "---\ntitle: T\nneeds: example\n---\n## S\nReach 0.9.\n```view\nv=1\n```\n```check\n" + check +
            " | It is not.\n```\n```solution\nv=1&query=1\n```\n");
        lessons.write();
        screen.draw(3);
        screen.click("lesson/write/try");
        screen.settle();
        if (shows_solution) screen.click("lesson/solution");
        screen.settle();
        screen.draw(3);
        return lessons.run().progress(screen.visit).fault;
    };
    CHECK(told("weight(0, 0) < 0.9", false) ==
          "This step passes before anything is done; let its view fail a check.");
    CHECK(told("weight(0, 0) > 0.9", false).empty());
    CHECK(told("weight(0, 0) > 0.9", true) == "The solution of this step fails at check 1.");
}

TEST_CASE("a printed lesson holds its steps, choices and lines for answers, and no markup of its text") {
    constexpr std::string_view text =
        "---\ntitle: A <b>lesson</b>\nneeds: example\n---\n## One & two?\nSay $x^2$ & **more**.\n"
        "```check\nweight(0, 1) > 0.5 | no\n```\n```ask\nWhich?\n( ) <cat>\n( ) sat\nanswer: argmax(0)\n```\n"
        "```ask\nHow many?\nnumber\nanswer: n\n```\n";
    const auto lesson = lesson::parse_lesson(std::as_bytes(std::span(text)));
    REQUIRE(lesson);
    const std::string html = learn::printed(*lesson);
    CHECK(html.find("A &lt;b&gt;lesson&lt;/b&gt;</h1>") != std::string::npos);
    CHECK(html.find("1. One &amp; two?") != std::string::npos);
    CHECK(html.find("<sup>2</sup>") != std::string::npos);
    CHECK(html.find("☐ &lt;cat&gt;") != std::string::npos);
    CHECK(html.find("class=line") != std::string::npos);
    CHECK(html.find("<b>lesson") == std::string::npos);
}
