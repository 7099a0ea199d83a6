// The words of a text, where maps and flows show them instead of its tokens.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct WordAxis {
    std::vector<Range> tokens;  // the tokens of each word, in order
    std::vector<std::string> names;

    Index count() const { return std::ssize(tokens); }
    Range of(Index word) const { return tokens[static_cast<std::size_t>(word)]; }
    const std::string& name(Index word) const { return names[static_cast<std::size_t>(word)]; }
    Index word_of(Index token) const;    // the word that the token belongs to
    Range words_of(Range tokens) const;  // the words that have some of these tokens; not for an empty range
    Range tokens_of(Range words) const;  // all tokens of these words; not for an empty range
    bool merges() const { return !tokens.empty() && tokens.back().end > count(); }  // some have several
};

// text/words.hpp says which tokens are a word.
WordAxis word_axis(std::span<const std::string> pieces, std::string_view text = {});

// For each word, the text of its only token, or how many tokens it has.
std::vector<std::string> below_words(const WordAxis& words, std::span<const std::string> token_texts);

// A side of a map or of a flow as a person sees it: its tokens, or its words.
struct ShownAxis {
    std::span<const std::string> names;
    const WordAxis* words = nullptr;  // null: tokens

    // What shows a token; none where there is no such token.
    std::optional<Index> shown(std::optional<Index> token) const;
    // The token that is shown; of a word the last one, in which all of it has been read.
    std::optional<Index> token(std::optional<Index> shown) const;
    // Words that overlap a non-empty range of tokens.
    Range shown(Range tokens) const { return words ? words->words_of(tokens) : tokens; }
    Range tokens(Range shown) const { return words ? words->tokens_of(shown) : shown; }
};

}  // namespace attn
