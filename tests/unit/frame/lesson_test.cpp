// Tests a lesson in the page: it checks itself, locks what it names, gives hints, and keeps the user's place.
#include <catch_amalgamated.hpp>

#include "app/lesson_state.hpp"
#include "app/link.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

constexpr const char* two_steps = R"(---
title: One token back
needs: example
---

## Make “sat” attend to “cat”

Change only $W_K$, until “sat” gives “cat” more than 80 % of its attention. It gives {weight("sat", "cat"):%}.

```view
v=1
lock: X, W_Q
```

```check
weight("sat", "cat") > 80% | It gives {weight("sat", "cat"):%}. | “sat” now gives “cat” {weight("sat", "cat"):%}.
unchanged(X, W_Q) | Only $W_K$ may change.
```

```hint
Look at the row of “cat”.
```

```hint
Make it larger.
```

```solution
v=1&W_K=4x4:9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9
```

## What it reads

```ask
Which word does “sat” attend to most?
( ) cat
( ) sat
( ) mat
answer: argmax("sat")
```

```ask
How many tokens are there?
number
answer: n
```
)";

std::string text_of(const ui::Node& node) { return node.name + node.value; }
bool says(const std::string& text) {
    return std::ranges::any_of(
        ui::semantics(), [&](const ui::Node& node) { return text_of(node).find(text) != std::string::npos; });
}

// Gives the page the lessons that it has asked for, from the tree.
void deliver(Screen& screen) {
    for (const std::string& name : std::exchange(screen.page.lessons_wanted, {})) {
        const auto bytes = read_file(source_dir() / "lessons" / (name + ".md"));
        REQUIRE_FALSE(bytes.empty());
        screen.frame.lessons().run().arrived(
            screen.visit, name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    screen.draw(3);
}

void open_text(Screen& screen) {
    screen.frame.lessons().open_text(two_steps);
    screen.settle();
}

const learn::CheckNow& check(Screen& screen, std::size_t number) {
    return screen.frame.lessons().run().checks()[number];
}

}  // namespace

TEST_CASE("a step checks itself with the page's numbers, and says what was seen") {
    Screen screen;
    open_text(screen);
    REQUIRE(screen.shows("lesson/checks"));
    CHECK_FALSE(check(screen, 0).holds);
    REQUIRE(check(screen, 0).measured);
    const double weight = explained(screen.visit, RunCell{Stage::weight, 1, 0})->f64;
    CHECK(check(screen, 0).measured->value == weight);
    CHECK(check(screen, 0).measured->bound == 0.8);
    CHECK(check(screen, 1).holds);
    CHECK(says(percent(weight)));
    screen.click("lesson/next");
    CHECK(lesson_of(screen.visit.state()).step == 0);
    // Key 1 is made long in the direction of the query.
    screen.visit.perform(SetCell{{Stage::w_k, 0, 0}, 40});
    screen.settle();
    INFO(check(screen, 0).said << check(screen, 0).missing);
    const double now = explained(screen.visit, RunCell{Stage::weight, 1, 0})->f64;
    CHECK(check(screen, 0).measured->value == now);
    CHECK(check(screen, 0).holds == (now > 0.8));
}

TEST_CASE("what a step locks cannot be changed until it is skipped or the lesson closed") {
    Screen screen;
    open_text(screen);
    const State before = screen.visit.state();
    screen.visit.perform(SetCell{{Stage::x, 0, 0}, 7});
    CHECK(screen.visit.state() == before);
    REQUIRE_FALSE(screen.page.notices.empty());
    CHECK(screen.page.notices.back().starts_with("X is locked in this step"));
    screen.click("lesson/close");
    CHECK_FALSE(screen.shows("lesson/title"));
    screen.visit.perform(SetCell{{Stage::x, 0, 0}, 7});
    CHECK_FALSE(LinkComparison(before, screen.visit.state()).is_same("X"));
}

TEST_CASE("hints come on request, and Skip leads to the questions, whose answers are computed") {
    Screen screen;
    open_text(screen);
    screen.click("lesson/hint");
    CHECK(says("Look at the row of"));
    screen.click("lesson/hint");
    CHECK(says("Make it larger."));
    CHECK_FALSE(screen.shows("lesson/hint"));
    screen.click("lesson/skip");
    screen.draw(3);
    REQUIRE(screen.shows("lesson/ask/0/0"));
    const auto& run = screen.frame.lessons().run();
    const auto weights = [&](Index key) {
        return explained(screen.visit, RunCell{Stage::weight, 1, key})->f64;
    };
    Index most = 0;
    for (Index key = 1; key < 3; ++key)
        if (weights(key) > weights(most)) most = key;
    const std::string right = "lesson/ask/0/" + std::to_string(most),
                      wrong = "lesson/ask/0/" + std::to_string((most + 1) % 3);
    screen.click(wrong);
    CHECK(says("Not so."));
    screen.click(right);
    CHECK(says("Right."));
    screen.click("lesson/ask/1/number");
    screen.type("3");
    screen.click("lesson/ask/1/answer");
    screen.draw(3);
    CHECK(run.all_progress()[1].passed);
    CHECK_FALSE(run.all_progress()[0].passed);
}

TEST_CASE("undo leaves the lesson at its step, and its link opens it there") {
    Screen screen;
    open_text(screen);
    screen.click("lesson/skip");
    screen.visit.perform(SetCell{{Stage::w_k, 0, 0}, 3});
    screen.visit.undo();
    screen.draw(2);
    CHECK(lesson_of(screen.visit.state()).step == 1);
    const std::string link = to_fragment(screen.visit.state());
    Screen other;
    other.visit.start(link);
    other.draw(3);
    CHECK(other.frame.lessons().run().title() == "One token back");
    CHECK(lesson_of(other.visit.state()).step == 1);
    CHECK(other.shows("lesson/ask/0/0"));
}

TEST_CASE("a lesson of the site is requested by its name, or one sentence says why it is missing") {
    Screen screen;
    screen.visit.start("v=1&lesson=one-token-back");
    screen.draw(3);
    CHECK(screen.page.lessons_wanted == std::vector<std::string>{"one-token-back"});
    deliver(screen);
    CHECK(screen.shows("lesson/title"));
    Screen missing;
    missing.visit.start("v=1&lesson=nothing");
    missing.draw(3);
    missing.frame.lessons().run().failed("nothing", "The lesson “nothing” could not be fetched.");
    missing.draw(2);
    CHECK(missing.shows("lesson/fault"));
    missing.click("lesson/close");
    CHECK_FALSE(missing.shows("lesson/fault"));
    Screen hostile;
    hostile.visit.start("v=1&lesson=../../etc/passwd");
    hostile.draw(3);
    CHECK(hostile.page.lessons_wanted.empty());
    CHECK_FALSE(hostile.page.notices.empty());
}

TEST_CASE("the first lesson greets newcomers until it is closed, and Help finds it again") {
    for (const float width : {1440.0f, 390.0f}) {
        Screen screen({width, 846});
        screen.open_sentence();
        screen.settle();
        CHECK_FALSE(screen.shows("lesson/title"));
        const std::string undone = screen.visit.last_edit();
        screen.frame.greet();
        screen.draw(2);
        deliver(screen);
        REQUIRE(screen.shows("lesson/title"));
        CHECK(screen.visit.last_edit() == undone);
        screen.click("lesson/next");
        screen.draw(30);  // longer than the time between the clicks of a double click
        CHECK(lesson_of(screen.visit.state()).step == 1);
        screen.click("lesson/close");
        CHECK(std::ranges::find(screen.page.remembered, "start done") != screen.page.remembered.end());
        CHECK_FALSE(screen.shows("lesson/title"));
        screen.frame.open_palette();
        screen.draw(3);
        screen.type("new to attention");
        screen.press(ImGuiKey_Enter);
        screen.draw(3);
        deliver(screen);
        CHECK(screen.shows("lesson/title"));
    }
}

TEST_CASE("the rail lists the next lessons, and the list all of them with time and needs") {
    Screen screen({1440, 900});
    std::string list = "[";
    for (int i = 0; i < 20; ++i)
        list += (i ? "," : "") + std::string("{\"name\":\"l") + std::to_string(i) + "\",\"title\":\"Lesson " +
                std::to_string(i) + "\",\"needs\":\"example\",\"minutes\":5}";
    REQUIRE(screen.frame.lessons().library().arrived(list + "]"));
    screen.draw(3);
    CHECK(screen.shows("learn/l0"));
    CHECK_FALSE(screen.shows("learn/l4"));
    CHECK(rect("learn/all").bottom < 872);
    screen.click("learn/all");
    screen.draw(2);
    CHECK(says("Lesson 19, 5 min · the worked example"));
    screen.click("lesson/list/l2");
    screen.draw(2);
    CHECK(lesson_of(screen.visit.state()).name == "l2");
    CHECK(screen.shows("learn/l2"));
    CHECK_FALSE(screen.frame.lessons().library().arrived("{}"));
    CHECK_FALSE(screen.frame.lessons().library().arrived("[{\"name\":\"../x\",\"title\":\"a\"}]"));
    CHECK(screen.frame.lessons().library().lessons().size() == 20);
}

TEST_CASE("a lesson fits windows of common sizes, with and without a text") {
    for (const ImVec2 size :
         {ImVec2{1440, 846}, {1440, 900}, {1366, 700}, {1024, 700}, {390, 844}, {844, 390}}) {
        INFO(size.x << " × " << size.y);
        Screen screen(size);
        screen.visit.start("v=1&lesson=first-steps");
        screen.draw(3);
        deliver(screen);
        screen.settle();
        REQUIRE(screen.shows("lesson/next"));
        CHECK(rect("lesson/next").bottom < size.y);
        ui::take_semantics();
        open_text(screen);
        screen.hover("lesson/title");
        CHECK(screen.shows("lesson/checks"));
        ui::take_semantics();
    }
}
