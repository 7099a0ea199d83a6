// Divides a text into the pieces within which byte pairs are merged, as the published tokenizers do. These
// are their regular expressions, with (?i:…) for ASCII letters:
//   gpt2              's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   single_digits     the same between digits, each of which is a piece
//   llama_default     runs of [\p{P}$+<=>^~|] are pieces; between them gpt2; of what that gives, runs of
//                     \p{N}, divided into three ASCII digits each from where there are three
//   qwen2             (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}
//                     | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   llama3            the same with \p{N}{1,3}
//   gpt4o             [^\r\n\p{L}\p{N}]?U*W+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//                     |[^\r\n\p{L}\p{N}]?U+W*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//                     |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//                     where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and W is [\p{Ll}\p{Lm}\p{Lo}\p{M}]
//   tekken            the same with \p{N} and without what (?i:…)? takes
// \s is Unicode's White_Space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attn {

enum class PreTokenizer : std::uint8_t { gpt2, single_digits, llama_default, qwen2, llama3, gpt4o, tekken };

// Returns the size in bytes of the first piece of a text that is well-formed UTF-8 and not empty.
std::size_t first_piece(std::string_view text, PreTokenizer by = PreTokenizer::gpt2);

// Calls use(piece) for each piece in turn; together, the pieces are the text.
template <class Use>
void for_each_piece(std::string_view text, Use use, PreTokenizer by = PreTokenizer::gpt2) {
    while (!text.empty()) {
        const std::size_t length = first_piece(text, by);
        use(text.substr(0, length));
        text.remove_prefix(length);
    }
}

}  // namespace attn
