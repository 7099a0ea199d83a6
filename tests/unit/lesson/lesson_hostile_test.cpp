#include <catch_amalgamated.hpp>
#include <random>

#include "lesson_texts.hpp"

using namespace attn;
using namespace attn::lesson;
using namespace attn::test;

namespace {

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

// Whatever the bytes are, they are a lesson that can be written, or one line of an error.
void check_calm(const std::string& text) {
    const auto read = parsed(text);
    if (read) {
        const auto again = parsed(write_lesson(*read));
        REQUIRE(again);
        CHECK(*again == *read);
        return;
    }
    const std::string& message = read.error().message;
    CHECK(message.starts_with("line "));
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 400);
}

}  // namespace

TEST_CASE("hostile lessons get one sentence", "[lesson]") {
    const std::vector<std::string> texts{
        std::string(1'000'000, 'a'),
        std::string(200'000, '-'),
        std::string(200'000, '\n'),
        in_step(std::string(100'000, '(')),
        fenced("check", std::string(100'000, '(')),
        fenced("check", std::string(1000, '(') + " | x"),
        fenced("check", std::string(1900, '9') + " > x | x"),
        fenced("check", "x | " + std::string(100'001, '{')),
        fenced("check", "x | " + repeated("{x}", 50'000)),
        fenced("check", "x | " + repeated("{", 99) + repeated("}", 99)),
        fenced("view", "v=1\nlock: " + repeated("a,", 50'000)),
        fenced("ask", "Q\n" + repeated("( ) a\n", 10'000) + "answer: x"),
        in_step(repeated("```hint\n", 10'000)),
        in_step(repeated("$$\n", 50'001)),
        in_step("$$\n" + repeated("$\n", 90'000)),
        in_step(repeated("text\n\n", 30'000)),
        in_step(repeated("````\n", 30'000)),
        std::string(front) + repeated("## S\n", 30'000),
        std::string(front) + std::string(100'000, '#'),
        "---\n" + repeated("a: b\n", 20'000),
        "---\n" + repeated("\n", 20'000),
        "---\ntitle: " + std::string(199'000, 'x') + "\n---\n## S\n",
        in_step(std::string("a\0b", 3)),
        in_step("a\rb"),
        in_step("\x1b[31m"),
        in_step("\xff\xfe"),
        in_step("\xed\xa0\x80"),
        in_step("cut \xe2\x80"),
        fenced("solution", "v=1&<script>alert(1)</script>\""),
        fenced("solution", "javascript:alert(1)"),
        std::string(1, '\0'),
    };
    for (const std::string& text : texts) {
        INFO(text.substr(0, 60));
        check_calm(text);
    }
    CHECK(lesson_error(texts[0]) == "line 1: this lesson has more than 200 kB; split it into several");
    CHECK(lesson_error(in_step(std::string("a\0b", 3))) ==
          "line 5: this line holds a control character; remove it");
    CHECK(lesson_error(in_step("\xff")) == "line 5: this line is not valid UTF-8; save the file as UTF-8");
}

TEST_CASE("a lesson has limits", "[lesson]") {
    CHECK(parsed(std::string(front) + repeated("## S\n", 60)));
    CHECK(lesson_error(std::string(front) + repeated("## S\n", 61)) ==
          "line 64: a lesson has at most 60 steps; move the rest into another lesson");
    CHECK(parsed(fenced("check", repeated("x | y\n", 20))));
    CHECK(lesson_error(fenced("check", repeated("x | y\n", 21))) ==
          "line 26: a step has at most 20 checks; move this one into another step");
    CHECK(parsed(in_step(repeated("```hint\nx\n```\n", 40))));
    CHECK_FALSE(parsed(in_step(repeated("```hint\nx\n```\n", 41))));
    CHECK(lesson_error(fenced("check", std::string(2001, '1') + " | x")) ==
          "line 6, column 1: this expression has more than 2,000 bytes; split it into several");
    // Writing adds an empty line between blocks, so that this one would grow beyond the limit.
    CHECK_FALSE(parsed(in_step(repeated("$$a$$\n", 33'000))));
}

TEST_CASE("1,000 damaged lessons are read or refused in one sentence", "[lesson]") {
    const std::string good =
        fenced("check", "weight(\"sat\", 1) > 80% | It is {weight(\"sat\", 1):%}.") +
        "$$ a $$\n```ask\nQ\n( ) a\n( ) b\nanswer: f(1)\n```\n```wrong\nv=1\nfails: 1\n```\n";
    REQUIRE(parsed(good));
    std::mt19937 random(42);
    const std::vector<std::string> pieces{"```", "$$", "\n", "{",   "}",     "\"",   "(",
                                          ")",   "|",  "±",  "## ", "---\n", "\xc3", " "};
    for (int i = 0; i < 1000; ++i) {
        std::string bad = good;
        for (unsigned change = 0; change <= random() % 3; ++change) {
            const std::size_t at = random() % bad.size();
            if (random() % 2 == 0)
                bad.erase(at, 1 + random() % 8);
            else
                bad.insert(at, pieces[random() % pieces.size()]);
        }
        INFO(bad);
        check_calm(bad);
    }
}
