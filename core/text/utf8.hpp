// UTF-8, read as the web's TextDecoder reads it.
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

// The first code point of a text that is not empty. Where it is ill-formed: U+FFFD for the longest start of a code
// point that is there, or for one byte (The Unicode Standard, section 3.9, substitution of maximal subparts).
CodePoint first_code_point(std::string_view text);

std::ptrdiff_t count_code_points(std::string_view text);  // of well-formed text

// The text with each ill-formed part as U+FFFD: the text itself where there is none, else what `storage` then holds.
// A byte order mark stays.
std::string_view well_formed(std::string_view text, std::string& storage);

}  // namespace attn
