// Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909; over bytes as in GPT-2): turns text
// into token ids and back, using the tokenizer.json of a checkpoint or what a GGUF file says of its
// tokenizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/result.hpp"
#include "text/added_tokens.hpp"
#include "text/pretokenize.hpp"

namespace attn {

struct BpePieces {
    PreTokenizer by = PreTokenizer::gpt2;
    bool whole = false;  // a piece that is a token is taken as such before anything is merged
};

class Bpe {
  public:
    struct Merge {
        std::int32_t left = 0, right = 0, result = 0;
    };
    struct Added {
        std::int32_t id = 0;
        bool special = false;
        bool later =
            false;  // is looked for where no other added token stands ("normalized" in a tokenizer.json)
        bool strips = false;  // the white space behind it belongs to it
    };
    // Stands in encode's ids for a byte that has no token.
    static constexpr std::int32_t no_token = -2;

    // Reads files whose pre-tokenizer is ByteLevel with GPT-2's expression, that have no normalizer and put
    // no tokens around the text. Everything else is refused by name. `truncation` and `padding` are ignored,
    // as they are where a text is encoded without asking for either.
    static Result<Bpe> parse(std::span<const std::byte> tokenizer_json);

    // tokens[id] are a token's bytes, and a merge's result must have the bytes of its left followed by those
    // of its right. Merges are in order of their rank. Tokens that are `never` in a text only have an id.
    // This is for parse, train_bpe and GgufTokenizer, which ensure all of that; the first two, also that no
    // byte is without a token.
    Bpe(std::vector<std::string> tokens, std::vector<Merge> merges, std::vector<Added> added,
        BpePieces pieces = {}, std::span<const std::int32_t> never = {});

    // Ill-formed UTF-8 is read the way TextDecoder passes it to a page: each maximal ill-formed part becomes
    // U+FFFD. For well-formed text, decode(encode(text)) == text. Takes O(n log n) time for n bytes.
    std::vector<std::int32_t> encode(std::string_view text) const;

    // Concatenates the tokens' bytes: this is UTF-8 only if the ids are those of whole characters.
    std::string decode(std::span<const std::int32_t> ids) const;

    std::string_view token(std::int32_t id) const;  // its bytes; empty: no such id
    std::int32_t vocabulary_size() const;

    // Writes a tokenizer.json that parse, Hugging Face's tokenizers and their JavaScript library can read.
    std::string to_json() const;

  private:
    class Encoder;

    std::vector<std::string> tokens_;
    std::vector<Merge> merges_;
    std::vector<Added> added_;
    AddedTokens added_in_text_, later_in_text_;
    BpePieces pieces_;
    std::array<std::int32_t, 256> byte_ids_{};
    std::vector<std::int32_t>
        by_bytes_;  // where whole pieces are taken: the tokens that text is made of, sorted
    std::unordered_map<std::uint64_t, std::size_t> ranks_;  // keyed by the ids of left and right

    std::optional<std::int32_t> whole(std::string_view piece) const;
};

}  // namespace attn
