#include "train/puzzles.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <map>
#include <set>

using namespace attn;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Asked {
    std::vector<std::int32_t> ids, targets;
    bool operator==(const Asked&) const = default;
};

Asked asked(Puzzle puzzle, std::int64_t step, Index place = 0, std::uint64_t seed = 1, Index context = 12) {
    const auto batches = puzzle_batches(puzzle, context, seed);
    REQUIRE(batches);
    const auto length = static_cast<std::size_t>(context);
    Asked a{std::vector<std::int32_t>(length), std::vector<std::int32_t>(length)};
    (*batches)(step, place, a.ids, a.targets);
    return a;
}

// Answers by reading the words.
std::string answer_of(Puzzle puzzle, const std::vector<std::string>& symbols) {
    if (puzzle == Puzzle::largest) return std::ranges::max(symbols);
    return std::to_string(std::set(symbols.begin(), symbols.end()).size());
}

void check_list(Puzzle puzzle, const PuzzleList& list) {
    const auto words = puzzle_words(puzzle);
    std::vector<std::string> read;
    for (const std::int32_t id : list.ids) read.push_back(words.at(static_cast<std::size_t>(id)));
    CHECK(read.front() == "list");
    CHECK(read.back() == name_of(puzzle));
    const std::vector<std::string> symbols(read.begin() + 1, read.end() - 1);
    for (const std::string& symbol : symbols)
        CHECK((puzzle == Puzzle::largest ? symbol >= "0" && symbol <= "9" : symbol >= "A" && symbol <= "H"));
    CHECK(words.at(static_cast<std::size_t>(list.answer)) == answer_of(puzzle, symbols));
}

}  // namespace

TEST_CASE("A puzzle's sequence depends on seed, step and place alone", "[unit][train]") {
    const auto puzzle = GENERATE(Puzzle::largest, Puzzle::different);
    CHECK(asked(puzzle, 5, 2) == asked(puzzle, 5, 2));
    CHECK(asked(puzzle, 5, 2) != asked(puzzle, 6, 2));
    CHECK(asked(puzzle, 5, 2) != asked(puzzle, 5, 3));
    CHECK(asked(puzzle, 5, 2) != asked(puzzle, 5, 2, 2));
}

TEST_CASE("A puzzle's only target is the right answer, behind the question", "[unit][train]") {
    const auto puzzle = GENERATE(Puzzle::largest, Puzzle::different);
    std::set<std::ptrdiff_t> lengths;
    std::map<std::int32_t, int> answers;
    for (std::int64_t step = 0; step < 2000; ++step) {
        const Asked a = asked(puzzle, step);
        const auto end = std::ranges::find(a.ids, 1) + 1;
        const PuzzleList list{{a.ids.begin(), end},
                              a.targets[static_cast<std::size_t>(end - a.ids.begin() - 1)]};
        check_list(puzzle, list);
        CHECK_FALSE(is_held_out(list));
        CHECK(std::ranges::count(a.targets, -1) == std::ssize(a.targets) - 1);
        lengths.insert(std::ssize(list.ids));
        ++answers[list.answer];
    }
    CHECK(*lengths.begin() == 4);
    CHECK(*lengths.rbegin() == 12);
    CHECK(lengths.size() == 9);
    CHECK(answers.size() == (puzzle == Puzzle::largest ? 10 : 8));
    for (const auto& [answer, count] : answers) CHECK(count > 50);
}

TEST_CASE("Held-out lists are right, and in no batch", "[unit][train]") {
    const auto puzzle = GENERATE(Puzzle::largest, Puzzle::different);
    const auto lists = held_out_lists(puzzle, 12, 200, 3);
    CHECK(lists.size() == 200);
    CHECK(lists == held_out_lists(puzzle, 12, 200, 3));
    CHECK(lists != held_out_lists(puzzle, 12, 200, 4));
    for (const PuzzleList& list : lists) {
        check_list(puzzle, list);
        CHECK(is_held_out(list));
    }
}

TEST_CASE("A puzzle needs room for a list of two", "[unit][train]") {
    const auto batches = puzzle_batches(Puzzle::largest, 3, 1);
    REQUIRE(!batches);
    CHECK_THAT(batches.error().message,
               ContainsSubstring("a context of 3") && ContainsSubstring("at least 4"));
    const Asked least = asked(Puzzle::different, 0, 0, 1, 4);
    check_list(Puzzle::different, {least.ids, least.targets.back()});
}

TEST_CASE("Puzzles are found by their names", "[unit][train]") {
    CHECK(puzzle_named("largest") == Puzzle::largest);
    CHECK(puzzle_named("different") == Puzzle::different);
    CHECK_FALSE(puzzle_named("smallest"));
}
