// Reads UTF-8 the way the web's TextDecoder does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;
    bool well_formed = false;
};

// Returns the first code point of a text that is not empty. If it is ill-formed, this is U+FFFD for the
// longest part that begins a code point, or for one byte (The Unicode Standard, section 3.9, substitution of
// maximal subparts).
CodePoint first_code_point(std::string_view text);

bool is_utf8(std::string_view text);  // whether all of it is well-formed

// These need a text that is well-formed.
std::ptrdiff_t count_code_points(std::string_view text);
std::string_view first_code_points(std::string_view text, std::ptrdiff_t most);  // at most so many

// Returns the text with each ill-formed part replaced by U+FFFD: the text itself if there is none, otherwise
// what `storage` then holds. A byte order mark stays.
std::string_view well_formed(std::string_view text, std::string& storage);

}  // namespace attn
