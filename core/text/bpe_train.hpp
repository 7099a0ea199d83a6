// Learns the merges of a byte-level BPE from text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/result.hpp"
#include "text/bpe.hpp"

namespace attn {

// The most frequent pair of neighbouring tokens becomes a token, again and again until there are `vocabulary` of them; of
// pairs that are equally frequent the one with the lower ids. Ids: special tokens as given, the 256 bytes in the order of
// their characters, then the merges, as Hugging Face's trainer numbers them. Pieces are those that encode divides a text
// into; special tokens in a text are no part of them. The same input gives the same tokens.
//
// An error where there is no text, where the vocabulary is too small for the bytes and special tokens or larger than the
// text supports, and where a special token is not of 2 to 256 of the characters from ! to ~ or is given twice.
Result<Bpe> train_bpe(std::span<const std::string_view> texts, int vocabulary,
                      std::span<const std::string> special_tokens);

// The same, with as many tokens as the text supports where those are fewer.
Result<Bpe> train_bpe_up_to(std::span<const std::string_view> texts, int vocabulary,
                            std::span<const std::string> special_tokens);

}  // namespace attn
