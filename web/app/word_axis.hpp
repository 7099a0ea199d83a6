// The words of a text, where a map shows them instead of its tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/map_choice.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

struct WordAxis {
    std::vector<Range> tokens;  // of each word, in their order
    std::vector<std::string> names;

    Index count() const { return std::ssize(tokens); }
    Range of(Index word) const { return tokens[static_cast<std::size_t>(word)]; }
    const std::string& name(Index word) const { return names[static_cast<std::size_t>(word)]; }
    Index word_of(Index token) const;    // that the token belongs to
    Range words_of(Range tokens) const;  // that have some of these, which are not none
    Range tokens_of(Range words) const;  // of these, which are not none
    bool merges() const { return !tokens.empty() && tokens.back().end > count(); }  // some have several
};

// text/words.hpp says which tokens are a word.
WordAxis word_axis(std::span<const std::string> pieces, std::string_view text = {});

// Whether a map of the choice is one of words: weights alone can be taken together.
constexpr bool takes_words(const MapChoice& choice) {
    return choice.unit == Unit::words && choice.stage == MapStage::weight;
}

}  // namespace attn::app
