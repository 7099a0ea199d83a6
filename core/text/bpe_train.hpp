// Learns the merges of a byte-level BPE from text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/result.hpp"
#include "text/bpe.hpp"

namespace attn {

// Makes the most frequent pair of neighbouring tokens a token, again and again until there are `vocabulary`
// of them; if pairs are equally frequent, it takes the one with the lower ids. Ids are those of Hugging
// Face's trainer: the special tokens as given, the 256 bytes in the order of their characters, then the
// merges. Pieces are those that encode divides a text into; special tokens in a text are not part of them.
// The same input gives the same tokens.
//
// It is an error if there is no text, if the vocabulary is too small for the bytes and special tokens or
// larger than the text supports, and if a special token does not consist of 2 to 256 characters from ! to ~
// or is given twice.
Result<Bpe> train_bpe(std::span<const std::string_view> texts, int vocabulary,
                      std::span<const std::string> special_tokens);

// Does the same, but stops with fewer tokens if the text supports no more.
Result<Bpe> train_bpe_up_to(std::span<const std::string_view> texts, int vocabulary,
                            std::span<const std::string> special_tokens);

}  // namespace attn
