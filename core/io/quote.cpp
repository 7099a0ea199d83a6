#include "io/quote.hpp"

#include <cstddef>

namespace attn {

std::string quote(std::string_view text, std::size_t limit) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "'";
    for (char c : text.substr(0, limit)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f)
            out += c;
        else
            out.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return out += text.size() > limit ? "…'" : "'";
}

}  // namespace attn
