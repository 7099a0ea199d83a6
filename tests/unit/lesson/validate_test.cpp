#include "lesson/validate.hpp"

#include <array>
#include <catch_amalgamated.hpp>

#include "lesson_texts.hpp"
#include "support/files.hpp"

using namespace attn;
using namespace attn::lesson;
using namespace attn::test;

namespace {

constexpr std::array<KnownName, 6> known{{{"weight", 2, 2},
                                          {"score", 2, 2},
                                          {"argmax", 1, 2},
                                          {"x", 0, 0},
                                          {"unchanged", 1, any_number},
                                          {"p", 0, 1}}};

std::string findings(std::string_view text) {
    const auto read = parsed(text);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    std::string all;
    for (const Finding& found : validate(*read, known))
        all += std::to_string(found.line) + ": " + found.sentence + "\n";
    return all;
}
std::string check_with(std::string_view prose, std::string_view check) {  // the check stands in line 7
    return in_step(std::string(prose) + "\n```check\n" + std::string(check) + "\n```");
}

}  // namespace

TEST_CASE("a number that a check asks for is said in the prose", "[lesson]") {
    CHECK(findings(check_with("More than 80 %.", "x > 0.8 | No.")).empty());
    CHECK(findings(check_with("More than 0.8.", "x > 80% | No.")).empty());
    CHECK(findings(check_with("More than 90 %, 8 or 800.", "x > 0.8 | No.")) ==
          "7: the check asks for 0.8, which the prose of its step does not say; say it there\n");
    CHECK(findings(check_with("Now 2.", "weight(0, 1) = 2 ± 0.01 and x > -3 | No.")) ==
          "7: the check asks for 3, which the prose of its step does not say; say it there\n");
}

TEST_CASE("how a text says a number", "[lesson]") {
    CHECK(says_number("0,8", 0.8));
    CHECK(says_number("80\u202f%", 0.8));
    CHECK(says_number("$80\\,\\%$", 0.8));
    CHECK(says_number("80 per cent", 0.8));
    CHECK(says_number("of 2,048 tokens", 2048));
    CHECK(says_number("1e-3", 0.001));
    CHECK(says_number("a .5", 0.5));
    CHECK(says_number("−3", -3));
    CHECK(says_number("ends with 7.", 7));
    CHECK(says_number("0.8embedded, 5e", 5));
    CHECK_FALSE(says_number("80", 0.8));
    CHECK_FALSE(says_number("0.81 8 0.08", 0.8));
    CHECK_FALSE(says_number("", 0));
    CHECK_FALSE(says_number(std::string(100'000, '7'), 7));
}

TEST_CASE("a step asks something, and has its own title", "[lesson]") {
    CHECK(findings(in_step("Look at it.")) ==
          "4: the step “S” asks nothing; add a check or an ask, or put a question into its text\n");
    CHECK(findings(in_step("What do you see?")).empty());
    CHECK(findings(in_step("Why?\n## T\nWhy?\n## S\nWhy?")) ==
          "8: two steps are called “S”; give one another title\n");
}

TEST_CASE("names are known, with so many arguments", "[lesson]") {
    CHECK(findings(check_with("", "x = x | {unchanged(x, x, x)} {p} {p(x)}")).empty());
    CHECK(findings(check_with("", "foo(x) or weight(x) < x | {bar} {x(1)} {argmax} {unchanged}")) ==
          "7: nothing is called “bar”; use a name that the page knows\n"
          "7: nothing is called “foo”; use a name that the page knows\n"
          "7: “argmax” has 0 arguments here; give it 1 to 2\n"
          "7: “unchanged” has 0 arguments here; give it 1 argument or more\n"
          "7: “weight” has 1 argument here; give it 2\n"
          "7: “x” has 1 argument here; give it none\n");
    CHECK(findings(fenced("ask", "Q\nnumber\nanswer: sc(1)")) ==
          "5: nothing is called “sc”; use a name that the page knows\n");
    std::string many = "x = x | ";
    for (int i = 0; i < 30'000; ++i) many += "{n" + std::to_string(i % 5000) + "}";
    CHECK(parsed(check_with("", many)).operator bool() == (check_with("", many).size() <= most_lesson_bytes));
}

TEST_CASE("the lesson in the tree is valid", "[lesson]") {
    constexpr std::array<KnownName, 8> names{{{"weight", 2, 2},
                                              {"score", 2, 2},
                                              {"scaled", 2, 2},
                                              {"argmax", 1, 1},
                                              {"unchanged", 1, any_number},
                                              {"X"},
                                              {"W_Q"},
                                              {"W_K"}}};
    const auto file = read_file(source_dir() / "lessons/one-token-back.md");
    const auto read = parse_lesson(file);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    for (const Finding& found : validate(*read, names)) FAIL(found.line << ": " << found.sentence);
    CHECK(write_lesson(*read) == std::string(reinterpret_cast<const char*>(file.data()), file.size()));
}
