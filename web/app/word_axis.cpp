#include "app/word_axis.hpp"

#include <algorithm>

#include "text/words.hpp"

namespace attn::app {

WordAxis word_axis(std::span<const std::string> pieces, std::string_view text) {
    WordAxis axis;
    for (Word& word : attn::words_of(pieces, text)) {
        axis.tokens.push_back(word.tokens);
        axis.names.push_back(std::move(word.name));
    }
    return axis;
}

Index WordAxis::word_of(Index token) const {
    return std::ranges::upper_bound(tokens, token, {}, &Range::begin) - tokens.begin() - 1;
}

Range WordAxis::words_of(Range some) const { return {word_of(some.begin), word_of(some.end - 1) + 1}; }

Range WordAxis::tokens_of(Range words) const { return {of(words.begin).begin, of(words.end - 1).end}; }

}  // namespace attn::app
