// GPT-2's division of a text into pieces, within which byte pairs are merged: words, numbers and other signs, each
// with the one space before it, English contractions, and runs of white space. As a regular expression, it is:
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// \p and \s are JavaScript's, so that the page and the core get the same pieces: \s includes U+FEFF but not U+0085.
#pragma once

#include <cstddef>
#include <string_view>

namespace attn {

// Returns the size in bytes of the first piece of a text that is well-formed UTF-8 and not empty.
std::size_t first_piece(std::string_view text);

// Calls use(piece) for each piece in turn; together, the pieces are the text.
template <class Use>
void for_each_piece(std::string_view text, Use use) {
    while (!text.empty()) {
        const std::size_t length = first_piece(text);
        use(text.substr(0, length));
        text.remove_prefix(length);
    }
}

}  // namespace attn
