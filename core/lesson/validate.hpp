// Finds what is wrong with a lesson, so far as its text tells. The page tells the rest: whether its views
// open, its solutions pass, and its wrong attempts fail.
#pragma once

#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::lesson {

struct KnownName {
    std::string_view name;
    std::size_t least = 0, most = 0;  // numbers of arguments
};
inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct Finding {
    std::size_t line = 0;
    std::string sentence;
    auto operator<=>(const Finding&) const = default;
};

// Finds, in the order of lines: titles that two steps share; a step without check or ask whose prose has no
// question; a number in a check's comparison that neither the title nor the prose of its step says, in
// digits, as a number or per cent; a name that is not known, or not with so many arguments.
std::vector<Finding> validate(const Lesson& lesson, std::span<const KnownName> known);

// Returns what parse_lesson() refuses, "line 12, column 7: …", as a finding.
Finding finding_of(const Error& error);

// Tells whether a text says a number, whatever its sign: 0.8 as "0.8", "0,8", "80%" or "80 %".
bool says_number(std::string_view text, double number);

}  // namespace attn::lesson
