// A lesson: a text file of steps, each with prose, a view (a link of the page), checks over the page's
// numbers, questions, hints, a solution, and wrong attempts that must fail. lessons/ has some. A check is an
// expression, a sentence that is said while it is false and, after a second “|”, one for when it holds.
//
//     ---                                       ```check
//     title: One token back                     weight("sat", "cat") > 80% | It is {weight("sat", "cat"):%}.
//     needs: example                            ```
//     ---                                       ```ask
//     ## Make “sat” attend to “cat”             Which word gets most?
//     Change only $W_K$ …                       ( ) cat
//     $$ q \cdot k $$                           ( ) The
//     ```view                                   answer: argmax("sat")
//     v=1&…                                     ```
//     lock: W_Q, X                              ```wrong
//     ```                                       v=1&…
//                                               fails: 1
//                                               ```
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lesson/expression.hpp"
#include "lesson/sentence.hpp"
#include "tensor/result.hpp"

namespace attn::lesson {

inline constexpr std::size_t most_lesson_bytes = 200'000, most_steps = 60, most_checks = 20;
inline constexpr std::size_t most_fences = 40, most_choices = 10,
                             most_locks = 100;  // a step, a question, a view

struct Block {
    enum class Kind : std::uint8_t { paragraph, formula };
    Kind kind = Kind::paragraph;
    std::string text;  // lines as written; a formula without its $$
    Place line;
    bool operator==(const Block&) const = default;
};

struct View {
    std::string link;                // the fragment, without #
    std::vector<std::string> locks;  // names of what may not change
    Place line;
    bool operator==(const View&) const = default;
};

struct Check {
    Expression expression;
    Sentence sentence;  // said while the expression is false
    Sentence seen;      // said once it is true; may be empty
    Place line;
    bool operator==(const Check&) const = default;
};

struct Ask {
    std::string question;
    std::vector<std::string> choices;  // none: a number is asked
    Answer answer;                     // the text of a choice, its index from 0, or a number
    Place line;
    bool operator==(const Ask&) const = default;
};

struct Hint {
    std::string text;
    Place line;
    bool operator==(const Hint&) const = default;
};

struct Solution {
    std::string link;
    Place line;
    bool operator==(const Solution&) const = default;
};

struct Wrong {
    std::string link;
    std::size_t fails = 1;  // the check that it must fail on, counted from 1 in its step
    Place line;
    bool operator==(const Wrong&) const = default;
};

struct Step {
    std::string title;
    std::vector<Block> prose;
    std::optional<View> view;
    std::vector<Check> checks;
    std::vector<Ask> asks;
    std::vector<Hint> hints;
    std::optional<Solution> solution;
    std::vector<Wrong> wrongs;
    Place line;
    bool operator==(const Step&) const = default;
};

struct Lesson {
    std::string title;
    std::string needs = "example";
    int minutes = 0;  // 0: not said
    std::string language = "en";
    std::vector<Block> introduction;  // before the first step
    std::vector<Step> steps;
    bool operator==(const Lesson&) const = default;
};

// An error says "line 12: …" or "line 12, column 7: …".
Result<Lesson> parse_lesson(std::span<const std::byte> file);

// Parses to the same lesson. In a step, prose comes first, then its fences in the order of the members.
std::string write_lesson(const Lesson& lesson);

// Tells which choice is right, or whether a number is, by computing the answer.
Result<std::size_t> right_choice(const Ask& ask, const Lookup& lookup);
Result<bool> is_right(const Ask& ask, double answered, const Lookup& lookup);

}  // namespace attn::lesson
