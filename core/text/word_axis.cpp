#include "text/word_axis.hpp"

#include <algorithm>

#include "text/words.hpp"

namespace attn {

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

std::vector<std::string> below_words(const WordAxis& words, std::span<const std::string> token_texts) {
    std::vector<std::string> texts;
    for (const Range& tokens : words.tokens)
        texts.push_back(tokens.size() == 1 ? token_texts[static_cast<std::size_t>(tokens.begin)]
                                           : std::to_string(tokens.size()) + " tokens");
    return texts;
}

std::optional<Index> ShownAxis::shown(std::optional<Index> token) const {
    const Index tokens = words ? words->tokens.back().end : std::ssize(names);
    if (!token || *token >= tokens) return std::nullopt;
    return words ? words->word_of(*token) : *token;
}

std::optional<Index> ShownAxis::token(std::optional<Index> shown) const {
    return words && shown ? words->of(*shown).end - 1 : shown;
}

}  // namespace attn
