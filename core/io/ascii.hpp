// Letters of ASCII; all other bytes stay what they are.
#pragma once

#include <string>
#include <string_view>

namespace attn {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ascii_lower(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = ascii_lower(c);
    return lower;
}

}  // namespace attn
