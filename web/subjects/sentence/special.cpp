#include "subjects/sentence/special.hpp"

#include <algorithm>

#include "text/unicode_class.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

bool says_something(std::string_view piece) {
    while (!piece.empty()) {
        const CodePoint point = first_code_point(piece);
        const UnicodeClass kind = class_of(point.value);
        if (kind == UnicodeClass::letter || kind == UnicodeClass::number) return true;
        piece.remove_prefix(point.bytes);
    }
    return false;
}

}  // namespace

bool is_special(const SpecialTokens& special, std::int32_t id) {
    return std::ranges::find(special.all, id) != special.all.end();
}

std::vector<Index> masked_tokens(std::span<const std::int32_t> ids, const SpecialTokens& special) {
    std::vector<Index> masked;
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == special.mask) masked.push_back(static_cast<Index>(i));
    return masked;
}

Index asked_token(std::span<const std::int32_t> ids, std::span<const std::string> pieces,
                  const SpecialTokens& special, std::optional<Index> chosen) {
    const std::vector<Index> masked = masked_tokens(ids, special);
    const bool exists = chosen && *chosen < std::ssize(ids);
    if (!masked.empty())
        return exists && std::ranges::find(masked, *chosen) != masked.end() ? *chosen : masked.front();
    if (exists) return *chosen;
    for (std::size_t i = ids.size(); i-- > 0;)
        if (!is_special(special, ids[i]) && says_something(pieces[i])) return static_cast<Index>(i);
    return std::ssize(ids) - 1;
}

std::vector<std::int32_t> segments_of(std::span<const std::int32_t> ids, const SpecialTokens& special) {
    if (!special.separator) return {};
    const auto first = std::ranges::find(ids, *special.separator);
    if (first == ids.end() || first + 1 == ids.end()) return {};
    std::vector<std::int32_t> segments(ids.size(), 1);
    std::fill_n(segments.begin(), first - ids.begin() + 1, 0);
    return segments;
}

}  // namespace attn::app
