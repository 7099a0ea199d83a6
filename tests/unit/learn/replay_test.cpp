// Tests that what is wrong with a lesson is found, and nothing else, over the worked example.
#include "learn/replay.hpp"

#include <catch_amalgamated.hpp>

#include "unit/app/visit.hpp"
#include "unit/lesson/lesson_texts.hpp"

using namespace attn;
using namespace attn::app;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using lesson::Finding;

namespace {

// A page that has no models and no tokenizer.
struct NoSurroundings final : learn::Surroundings {
    bool deliver(Visit&) override { return false; }
    std::vector<std::string> take_errors() override { return {}; }
};

std::vector<Finding> replayed_text(const std::string& text) {
    const auto lesson = test::parsed(text);
    INFO(text);
    REQUIRE(lesson);
    test::FakePage page;
    Visit visit(page);
    NoSurroundings around;
    return learn::replay(*lesson, visit, around);
}

// The first fence opens in line 5.
std::vector<Finding> replayed(const std::string& body) { return replayed_text(test::in_step(body)); }

std::string fenced_as(const std::string& kind, const std::string& inner) {
    return "```" + kind + "\n" + inner + "\n```\n";
}

const std::string example_link = "v=1&subject=worked&ex=three-tokens";
const std::string hidden_link = example_link + "&mask=causal,0";
const std::string example_view = fenced_as("view", example_link);  // three lines
// The first number is hidden by a causal mask; the second is not, but by a stricter one.
const std::string two_checks = fenced_as(
    "check",
    "weight(0, 1) = 0 | It is {weight(0, 1):%}. | It is 0.\nweight(0, 0) > 0 | Now nothing is left.");

}  // namespace

TEST_CASE("a lesson in which everything is as it says has no findings") {
    CHECK(replayed(example_view + two_checks +
                   fenced_as("ask", "What is the largest?\nnumber\nanswer: largest(1) ± 0.01") +
                   fenced_as("solution", hidden_link) +
                   fenced_as("wrong", example_link + "&mask=causal,1\nfails: 1") +
                   fenced_as("wrong", example_link + "&mask=causal,-1\nfails: 2"))
              .empty());
}

TEST_CASE("a step that passes before anything is done is found") {
    const auto found = replayed(fenced_as("view", hidden_link) + two_checks);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{5, "the step passes before anything is done; let its view fail a check"});
}

TEST_CASE("a solution that fails is found, with what its check says") {
    const auto found =
        replayed(example_view + two_checks + fenced_as("solution", example_link + "&mask=causal,1"));
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == 12);
    CHECK_THAT(found[0].sentence, StartsWith("the solution fails at check 1: It is "));
}

TEST_CASE("wrong attempts that pass, or fail elsewhere, are found") {
    auto found = replayed(example_view + two_checks + fenced_as("wrong", hidden_link + "\nfails: 1"));
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{12, "this attempt passes all checks; it should fail at check 1"});
    found =
        replayed(example_view + two_checks + fenced_as("wrong", example_link + "&mask=causal,-1\nfails: 1"));
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{12, "this attempt fails at check 2, not at check 1: Now nothing is left"});
}

TEST_CASE("what a link drops is found") {
    const auto found = replayed(fenced_as("view", example_link + "&flavour=sour") + two_checks);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{5, "The link's key 'flavour' is not known here."});
}

TEST_CASE("a solution may not change what its view locks") {
    const std::string locked = fenced_as("view", example_link + "\nlock: Q, mask");
    const auto found = replayed(locked + two_checks + fenced_as("solution", hidden_link));
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{13, "the solution changes “mask”, which the view locks"});
    CHECK(replayed(fenced_as("view", example_link + "\nlock: Q, K") + two_checks +
                   fenced_as("solution", hidden_link))
              .empty());
}

TEST_CASE("numbers that cannot be computed are found where they stand") {
    SECTION("the answer to a question") {
        const auto found =
            replayed(example_view + fenced_as("ask", "Which?\n( ) a\n( ) b\nanswer: argmax(\"dog\")"));
        REQUIRE(found.size() == 1);
        CHECK(found[0].line == 8);
        CHECK_THAT(found[0].sentence, StartsWith("“argmax(\"dog\")” does not answer the question: "));
    }
    SECTION("an answer that is no choice") {
        const auto found =
            replayed(example_view + fenced_as("ask", "Which?\n( ) a\n( ) b\nanswer: argmax(0)"));
        REQUIRE(found.size() == 1);
        CHECK_THAT(found[0].sentence, ContainsSubstring("which is no choice"));
    }
    SECTION("a check and its sentence") {
        const auto found =
            replayed(example_view + fenced_as("check", "weight(\"dog\", 0) > 0 | It is {weight(0, 7)}."));
        REQUIRE(found.size() == 2);
        CHECK(found[0].line == 9);
        CHECK_THAT(found[0].sentence, ContainsSubstring("” cannot be computed: "));
        CHECK_THAT(found[1].sentence, StartsWith("a number in the sentence cannot be computed: "));
    }
    SECTION("the prose") {
        const auto found = replayed("It is {weight(0, 7)}?\n\n" + example_view);
        REQUIRE(found.size() == 1);
        CHECK(found[0].line == 5);
        CHECK_THAT(found[0].sentence, StartsWith("a number in the text cannot be computed: "));
    }
}

TEST_CASE("a step without a view begins where the step before it ended") {
    const std::string first = test::in_step(example_view + two_checks + fenced_as("solution", hidden_link));
    const std::string passed = fenced_as("check", "weight(0, 1) = 0 | No."),
                      failed = fenced_as("check", "weight(0, 1) > 0 | No.");
    CHECK(replayed_text(first + "## Next\n" + failed + fenced_as("solution", example_link)).empty());
    CHECK(replayed_text(first + "## Next\n" + passed).size() == 1);
    const auto found = replayed(two_checks);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == Finding{4, "no view is open here; give this step one"});
}

TEST_CASE("a network in training has to be named in needs") {
    const std::string plan = "induction,layers:1,heads:2,d:16,vocabulary:16,context:16,batch:2,steps:8";
    const std::string trained = fenced_as("view", "v=1&subject=training&train=" + plan + "&step=4") +
                                fenced_as("check", "training_step > 4 | No.") +
                                fenced_as("solution", "v=1&subject=training&train=" + plan + "&step=8");
    const auto found = replayed(trained);
    REQUIRE(found.size() == 2);
    CHECK(found[0] == Finding{5, "this link shows a network in training; say needs: training"});
    CHECK(replayed_text("---\ntitle: T\nneeds: training\n---\n## S\n" + trained).empty());
}

TEST_CASE("numbers of lenses are known by the lens and their kind") {
    const auto found_in = [](const std::string& answer) {
        const auto lesson = test::parsed(test::fenced("ask", "What is it?\nnumber\nanswer: " + answer));
        REQUIRE(lesson);
        return learn::validated(*lesson);
    };
    const CellKind& kind = []() -> const CellKind& {
        for (const LensEntry& lens : lens_list())
            if (lens.key == "softmax") return *lens.cells.front();
        FAIL("there is no such lens");
        return *lens_list().front().cells.front();
    }();
    std::string arguments = "0";
    for (std::size_t i = 1; i < kind.rank(); ++i) arguments += ", 0";
    const std::string name = "softmax." + std::string(kind.name);
    CHECK(found_in(name + "(" + arguments + ")").empty());
    CHECK(found_in(name + "(" + arguments + ", 0)").size() == 1);
    CHECK(found_in("softmax.nothing(0)").size() == 1);
}
