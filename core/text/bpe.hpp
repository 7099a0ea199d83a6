// Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909; over bytes as in GPT-2): text to token ids and
// back, by the tokenizer.json of a checkpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/result.hpp"
#include "text/added_tokens.hpp"

namespace attn {

class Bpe {
  public:
    struct Merge {
        std::int32_t left = 0, right = 0, result = 0;
    };
    struct Added {
        std::int32_t id = 0;
        bool special = false;
    };

    // Reads files whose pre-tokenizer is ByteLevel with GPT-2's expression, without a normalizer and without tokens put
    // around the text; everything else is refused by name. `truncation` and `padding` are not looked at.
    static Result<Bpe> parse(std::span<const std::byte> tokenizer_json);

    // tokens[id] are a token's bytes: all 256 single bytes are among them, and those of a merge's result are those of its
    // left and its right. Merges stand in order of their rank. For parse and train_bpe, which see to all that.
    Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, std::vector<Added> added);

    // Ill-formed UTF-8 is read as TextDecoder gives it to a page: each maximal ill-formed part as U+FFFD.
    // For well-formed text decode(encode(text)) == text. Takes O(n log n) time for n bytes.
    std::vector<std::int32_t> encode(std::string_view text) const;

    // The tokens' bytes one after another: UTF-8 only where the ids are those of whole characters.
    std::string decode(std::span<const std::int32_t> ids) const;

    std::string_view token(std::int32_t id) const;  // its bytes; empty where there is no such id
    std::int32_t vocabulary_size() const;

    // A tokenizer.json that parse, Hugging Face's tokenizers and their JavaScript library read.
    std::string to_json() const;

  private:
    class Encoder;

    std::vector<std::string> tokens_;
    std::vector<Merge> merges_;
    std::vector<Added> added_;
    AddedTokens added_in_text_;
    std::array<std::int32_t, 256> byte_ids_{};
    std::unordered_map<std::uint64_t, std::size_t> ranks_;  // by the ids of left and right
};

}  // namespace attn
