// Finds out which tokens of a text form one word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

inline constexpr Index most_tokens_a_word = 16;  // a longer word is cut there

struct Word {
    Range tokens;          // not empty; consecutive words have consecutive tokens
    std::string name;      // its pieces without marks for a space or a continuation
    bool is_apart = true;  // a space may come before it
};

// Pieces are tokens as their vocabulary spells them or as they are shown to people. A space before a piece is
// "Ġ", "▁", "·" or a space, and a piece without it continues the word before. If no piece has one, pieces
// with "##" continue a word, and any other piece begins one; but if `text` is known and has no white space,
// it is one word.
//
// Pieces with neither letter nor number stand alone: punctuation, spaces, line breaks. So do special tokens,
// "<s>" or "[CLS]". Han and Kana are written without spaces: a piece that begins with one of them begins a
// word.
std::vector<Word> words_of(std::span<const std::string> pieces, std::string_view text = {});

}  // namespace attn
