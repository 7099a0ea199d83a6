#include "text/visible.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text/utf8.hpp"

namespace attn {

namespace {

struct Points {
    char32_t first, last;
};
// Controls, separators, format characters and private use (Cc, Z, Cf and Co of Unicode 17.0), in order.
constexpr std::array unseen{
    Points{0x0, 0x20},        Points{0x7f, 0xa0},       Points{0xad, 0xad},       Points{0x600, 0x605},
    Points{0x61c, 0x61c},     Points{0x6dd, 0x6dd},     Points{0x70f, 0x70f},     Points{0x890, 0x891},
    Points{0x8e2, 0x8e2},     Points{0x1680, 0x1680},   Points{0x180e, 0x180e},   Points{0x2000, 0x200f},
    Points{0x2028, 0x202f},   Points{0x205f, 0x206f},   Points{0x3000, 0x3000},   Points{0xe000, 0xf8ff},
    Points{0xfeff, 0xfeff},   Points{0xfff9, 0xfffb},   Points{0x110bd, 0x110bd}, Points{0x110cd, 0x110cd},
    Points{0x13430, 0x1343f}, Points{0x1bca0, 0x1bca3}, Points{0x1d173, 0x1d17a}, Points{0xe0001, 0xe0001},
    Points{0xe0020, 0xe007f}, Points{0xf0000, 0x10ffff}};

bool is_unseen(char32_t point) {
    const auto* range = std::ranges::lower_bound(unseen, point, {}, &Points::last);
    return range != unseen.end() && range->first <= point;
}

}  // namespace

std::string visible(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        std::array<char, 16> code{};
        if (next.value == ' ')
            out += "·";
        else if (next.value == '\n')
            out += "↵";
        else if (next.value == '\t')
            out += "⇥";
        else if (!is_unseen(next.value))
            out += text.substr(0, next.bytes);
        else {
            std::snprintf(code.data(), code.size(), next.value > 0xffff ? "\\u{%X}" : "\\u%04X",
                          static_cast<unsigned>(next.value));
            out += code.data();
        }
        text.remove_prefix(next.bytes);
    }
    return out;
}

}  // namespace attn
