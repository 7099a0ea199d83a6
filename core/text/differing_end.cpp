#include "text/differing_end.hpp"

#include <algorithm>

namespace attn {

std::string from_difference(const std::string& text, const std::string& other) {
    constexpr int kept_words = 2;
    const auto differ = std::ranges::mismatch(text, other).in1;
    std::size_t from = static_cast<std::size_t>(differ - text.begin());
    // The word that differs begins after the preceding blank.
    for (int words = 0; words <= kept_words && from > 0; ++words) {
        const std::size_t blank = text.rfind(' ', from - 1);
        from = blank == std::string::npos ? 0 : blank;
    }
    return from == 0 ? text : "…" + text.substr(from);
}

}  // namespace attn
