// Tells what a code point is: a letter, a number, white space or something else.
#pragma once

#include <algorithm>

#include "text/unicode_ranges.hpp"

namespace attn {

inline UnicodeClass class_of(char32_t point) {
    const auto after = std::ranges::upper_bound(unicode_class_changes, point, {},
                                                [](std::uint32_t change) { return change >> 2; });
    return static_cast<UnicodeClass>(*(after - 1) & 3);
}

}  // namespace attn
