#include "text/added_tokens.hpp"

#include <algorithm>

namespace attn {

namespace {

std::uint64_t edge(std::uint64_t node, char byte) { return node << 8 | static_cast<unsigned char>(byte); }

}  // namespace

void AddedTokens::add(std::string_view content, std::int32_t id, bool strips) {
    std::uint64_t node = 0;
    for (const char byte : content)
        node = next_.try_emplace(edge(node, byte), next_.size() + 1).first->second;
    tokens_[node] = {id, strips};
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text) const {
    if (tokens_.empty()) return std::nullopt;
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        std::optional<Match> longest;
        bool strips = false;
        std::uint64_t node = 0;
        for (std::size_t end = begin; end < text.size();) {
            const auto next = next_.find(edge(node, text[end++]));
            if (next == next_.end()) break;
            node = next->second;
            if (const auto token = tokens_.find(node); token != tokens_.end()) {
                longest = {begin, end, token->second.id};
                strips = token->second.strips;
            }
        }
        if (!longest) continue;
        if (strips) longest->end = std::min(text.find_first_not_of(" \t\n\v\f\r", longest->end), text.size());
        return longest;
    }
    return std::nullopt;
}

}  // namespace attn
