#include "lesson/lesson.hpp"

#include <catch_amalgamated.hpp>

#include "lesson_texts.hpp"

using namespace attn;
using namespace attn::lesson;
using namespace attn::test;

namespace {

constexpr std::string_view whole = R"(---
title: One token back: “sat”
needs: hub:org/name@rev
minutes: 7
language: pt-BR
---
An introduction
of two lines.

## Make “sat” attend
First paragraph.
$$ q \cdot k $$
Second.
- a list
  - with indents

$$
a +
b
$$
```view
#v=1&subject=worked&pin=a.b
lock: W_Q, X
lock: W_V
```
```check
weight("sat","c|t}:")>80% | “sat” gives {weight("sat","c|t}:"):%} and {{x}} | so.
  unchanged(X)            | No.
```
```hint

Look at K.

  Twice.
```
More prose.
```solution
v=1&a=b
```
```wrong
v=1&a=c
fails: 2
```
## Which
```ask
Which word?
( ) The
( ) cat
answer: argmax("sat")
```
```ask
How much?
number
answer: score(0,1) ± 1%
```
)";

void check_round_trip(std::string_view text) {
    const auto read = parsed(text);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    const std::string written = write_lesson(*read);
    const auto again = parsed(written);
    INFO(written << (again ? "" : again.error().message));
    REQUIRE(again);
    CHECK(*again == *read);
    CHECK(write_lesson(*again) == written);
}

}  // namespace

TEST_CASE("a lesson with everything in it", "[lesson]") {
    const auto read = parsed(whole);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    CHECK(read->title == "One token back: “sat”");
    CHECK(read->needs == "hub:org/name@rev");
    CHECK(read->minutes == 7);
    CHECK(read->language == "pt-BR");
    REQUIRE(read->introduction.size() == 1);
    CHECK(read->introduction[0].text == "An introduction\nof two lines.");
    REQUIRE(read->steps.size() == 2);
    const Step& step = read->steps[0];
    CHECK(step.title == "Make “sat” attend");
    CHECK(step.line.number == 10);
    const std::vector<Block> prose{{Block::Kind::paragraph, "First paragraph.", {}},
                                   {Block::Kind::formula, "q \\cdot k", {}},
                                   {Block::Kind::paragraph, "Second.\n- a list\n  - with indents", {}},
                                   {Block::Kind::formula, "a +\nb", {}},
                                   {Block::Kind::paragraph, "More prose.", {}}};
    CHECK(step.prose == prose);
    CHECK(step.prose[3].line.number == 17);
    CHECK(step.view == View{"v=1&subject=worked&pin=a.b", {"W_Q", "X", "W_V"}, {}});
    REQUIRE(step.checks.size() == 2);
    CHECK(to_text(step.checks[0].expression) == "weight(\"sat\", \"c|t}:\") > 80%");
    CHECK(to_text(step.checks[0].sentence) == "“sat” gives {weight(\"sat\", \"c|t}:\"):%} and {{x}}");
    CHECK(to_text(step.checks[0].seen) == "so.");
    CHECK(step.checks[1].seen == Sentence{});
    CHECK(step.checks[1].line.number == 28);
    CHECK(step.hints == std::vector<Hint>{{"Look at K.\n\n  Twice.", {}}});
    CHECK(step.solution == Solution{"v=1&a=b", {}});
    CHECK(step.wrongs == std::vector<Wrong>{{"v=1&a=c", 2, {}}});
    REQUIRE(read->steps[1].asks.size() == 2);
    CHECK(read->steps[1].asks[0].choices == std::vector<std::string>{"The", "cat"});
    CHECK(to_text(read->steps[1].asks[1].answer) == "score(0, 1) ± 1%");
}

TEST_CASE("what is written parses to the same lesson", "[lesson]") {
    check_round_trip(whole);
    check_round_trip(in_step(""));
    check_round_trip(in_step("$$$a$$\n\n$$b$$$\n\n$$ x\n\n y $$\n    code\n#tag"));
    check_round_trip(fenced("check", "x|{{{x}}}{y:3}}}{{"));
    check_round_trip(fenced("ask", "Q ± 1\n( ) ( ) a\n( ) number\nanswer: f(\"±\")"));
    std::string windows;
    for (const char c : whole) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    CHECK(*parsed(windows) == *parsed(whole));
    CHECK(*parsed("\xef\xbb\xbf" + std::string(whole)) == *parsed(whole));
}

TEST_CASE("a lesson without all keys has their defaults", "[lesson]") {
    const auto read = parsed(in_step("text"));
    REQUIRE(read);
    CHECK(read->needs == "example");
    CHECK(read->minutes == 0);
    CHECK(read->language == "en");
}

TEST_CASE("an error in a lesson says its line", "[lesson]") {
    const auto [text, message] = GENERATE(table<std::string, std::string>({
        {"", "line 1: a lesson begins with a line “---”, “title: …” and another line “---”; add them"},
        {"---\ntitle: T\n", "line 1: the lines after this “---” do not end; close them with “---”"},
        {"---\nminutes: 2\n---\n## S\n", "line 1: this lesson has no title; add a line “title: …”"},
        {"---\nauthor: A\n---\n", "line 2: no lesson has a “author”; use title, needs, minutes or language"},
        {"---\ntitle: A\ntitle: B\n---\n", "line 3: “title” stands here twice; keep one"},
        {"---\ntitle\n---\n", "line 2: a key and a colon should stand here; write “title: …”"},
        {"---\nminutes: 7.5\n---\n",
         "line 2: “7.5” is no number of minutes; write a whole one from 1 to 600"},
        {"---\nminutes: 99999999999\n---\n",
         "line 2: “99999999999” is no number of minutes; write a whole one from 1 to 600"},
        {"---\nlanguage: Deutsch!\n---\n",
         "line 2: “Deutsch!” is no language; write a tag such as en or pt-BR"},
        {std::string(front), "line 3: this lesson has no step; add a line “## ” and a title"},
        {std::string(front) + "# S\n", "line 4: a step begins with “## ” and a title; write this heading so"},
        {std::string(front) + "##S\n", "line 4: a step begins with “## ” and a title; write this heading so"},
        {std::string(front) + "##\n", "line 4: a step begins with “## ” and a title; write this heading so"},
        {in_step("### S"), "line 5: a step begins with “## ” and a title; write this heading so"},
        {std::string(front) + "```hint\nx\n```\n",
         "line 4: a fence belongs to a step; write a line “## ” and a title before"},
        {in_step("```python\nx\n```"),
         "line 5: no fence is called “python”; use view, check, ask, hint, solution or wrong"},
        {in_step("```hint\nx"), "line 5: this fence is not closed; end it with a line “```”"},
        {in_step("```hint\n```view\n```\n```"),
         "line 6: a fence opens within the one of line 5; close that one before"},
        {in_step("$$ a"), "line 5: this formula is not closed; end it with “$$”"},
        {in_step("$$ a $$ b"),
         "line 5: a formula stands alone between “$$” and “$$”; move other text into its own line"},
        {in_step("$$$$"),
         "line 5: a formula stands alone between “$$” and “$$”; move other text into its own line"},
        {fenced("check", "x = \"a | b"), "line 6, column 5: this text is not closed; end it with \""},
        {fenced("check", "x > | b"),
         "line 6, column 5: the expression ends where a number, a text or a name should be; add one"},
        {fenced("check", "é"), "line 6, column 1: “é” is no part of an expression; remove it"},
        {fenced("check", "x > 1"),
         "line 6: a check needs “|” and a sentence that is said while it is false; add them"},
        {fenced("check", "x | a {y"),
         "line 6, column 7: this { is not closed; end it with }, or write {{ for a brace"},
        {fenced("check", "\nx | a } b"), "line 7, column 7: this } closes nothing; write }} for a brace"},
        {fenced("view", "https://a.b"),
         "line 6: “https://a.b” is no link of the page; write what follows # in its address, v=1&…"},
        {fenced("view", "v=1&a b"),
         "line 6: this link holds a blank or a letter outside ASCII; copy it from the page"},
        {fenced("view", "v=1\nlocks: a"),
         "line 7: after its link, a view has only lines such as “lock: W_Q, X”; remove this one"},
        {fenced("view", "v=1\nlock: a, a"), "line 7: “a” is locked twice; remove one"},
        {fenced("solution", "v=1\nv=1"), "line 7: a solution is one link; remove this line"},
        {fenced("wrong", "v=1"),
         "line 5: a wrong has two lines, a link and “fails: 1”; say there which check fails"},
        {fenced("wrong", "v=1\nfails: 0"),
         "line 7: the number of a check should stand here; count the lines of checks from 1"},
        {fenced("wrong", "v=1\nfails: 2"),
         "line 5: this must fail on check 2, but its step has 0; correct the number"},
        {fenced("ask", "Q\nnumber\nanswer: 3"),
         "line 8: an answer is computed; use a name such as argmax(…), not a constant alone"},
        {fenced("ask", "Q\nnumber\nanswer: x = 1 ± 2"),
         "line 8: an answer is a number or a text; remove the comparison"},
        {fenced("ask", "Q\n( ) a\nanswer: x"), "line 7: a question needs two choices; add one"},
        {fenced("ask", "Q\n( ) a\n( ) a\nanswer: x"),
         "line 8: a choice is empty or stands here twice; change it"},
        {fenced("ask", "Q\n( ) a\n( ) b"),
         "line 5: this question has no answer; add a line “answer:” and an expression"},
        {fenced("ask", "Q\n( ) a\n( ) b\nanswer: x ± 1"),
         "line 9: an answer among choices has no tolerance; remove the ±"},
        {fenced("ask", "Q\nnumber\nanswer: f("),
         "line 8, column 11: the expression ends where a number, a text or a name should be; add one"},
    }));
    CHECK(lesson_error(text) == message);
}

TEST_CASE("answers are computed", "[lesson]") {
    const auto read = parsed(whole);
    REQUIRE(read);
    const Ask &which = read->steps[1].asks[0], &how_much = read->steps[1].asks[1];
    const auto giving = [](Value value) {
        return [value](std::string_view, std::span<const Value>) { return Result<Value>(value); };
    };
    CHECK(*right_choice(which, giving(std::string(" cat"))) == 1);
    CHECK(*right_choice(which, giving(0.0)) == 0);
    CHECK_FALSE(right_choice(which, giving(std::string("dog"))));
    CHECK_FALSE(right_choice(which, giving(2.0)));
    CHECK_FALSE(right_choice(which, giving(0.5)));
    CHECK_FALSE(right_choice(which, giving(true)));
    CHECK(*is_right(how_much, 0.509, giving(0.5)));
    CHECK_FALSE(*is_right(how_much, 0.511, giving(0.5)));
    CHECK_FALSE(is_right(how_much, 0.5, giving(std::string("a"))));
}
