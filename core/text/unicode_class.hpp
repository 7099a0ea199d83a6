// Tells what a code point is: a letter, a number, white space or something else; of which case; whether it is
// punctuation.
#pragma once

#include <algorithm>
#include <span>

#include "text/unicode_ranges.hpp"

namespace attn {

inline std::uint32_t class_in(std::span<const std::uint32_t> changes, char32_t point) {
    const auto after =
        std::ranges::upper_bound(changes, point, {}, [](std::uint32_t change) { return change >> 2; });
    return *(after - 1) & 3;
}

inline UnicodeClass class_of(char32_t point) {
    return static_cast<UnicodeClass>(class_in(unicode_class_changes, point));
}

inline LetterCase case_of(char32_t point) {
    return static_cast<LetterCase>(class_in(letter_case_changes, point));
}

inline bool is_punctuation(char32_t point) { return class_in(punctuation_changes, point) == 1; }

}  // namespace attn
