// Which tokens of a text are one word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

inline constexpr Index most_tokens_a_word = 16;  // a longer one is cut there

struct Word {
    Range tokens;      // not empty; words in a row are tokens in a row
    std::string name;  // its pieces without what marks a space before it, or that they go on
};

// Pieces are tokens as their vocabulary spells them or as people are shown them. A space before one is "Ġ", "▁", "·" or itself,
// and a piece without it goes on with the word before. Where no piece has one, words go on with "##", and any other piece
// begins one; `text`, where it is known and has no white space, is one word then.
//
// What has neither letter nor number stands alone: punctuation, spaces, line breaks. So do special tokens, "<s>" or "[CLS]".
// Han and Kana are written without spaces: a piece that begins with one of them begins a word.
std::vector<Word> words_of(std::span<const std::string> pieces, std::string_view text = {});

}  // namespace attn
