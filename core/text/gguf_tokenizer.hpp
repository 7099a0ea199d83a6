// The tokenizer that a GGUF file carries in its keys: byte-level BPE ("gpt2") or SentencePiece ("llama").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/gguf.hpp"
#include "tensor/result.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/sentence_piece.hpp"
#include "text/token_type.hpp"

namespace attn {

// What the keys tokenizer.ggml.… say. Texts look into the file.
struct GgufVocabulary {
    std::string_view model;
    std::optional<std::string_view> pre;
    std::vector<std::string_view> tokens;
    std::vector<TokenType> types;  // empty: all are normal
    std::vector<float> scores;
    std::vector<std::string_view> merges;  // "left right"
    std::optional<std::int64_t> bos, eos, unknown;
    std::optional<bool> add_bos, add_eos, add_space_prefix;
    std::string_view name;                       // general.name
    std::array<bool, fill_marks> fills_given{};  // which of FillMark a key gave

    static Result<GgufVocabulary> read(const GgufHeader& header);
};

class GgufTokenizer {
  public:
    // Refuses by name what is not known here: other tokenizers, and pre-tokenizers without a row in the
    // table. What the file does not say is as in llama.cpp.
    static Result<GgufTokenizer> make(const GgufVocabulary& vocabulary);

    // Control tokens and those that a user defined are taken as such where they stand in the text. `ends`
    // adds the tokens that the file puts around a text. Fails only if a character has no token. Ill-formed
    // UTF-8 is read as Bpe reads it. Takes O(n log n) time for n bytes.
    Result<std::vector<std::int32_t>> encode(std::string_view text, bool ends = true) const;

    // Concatenates the tokens' bytes: this is UTF-8 only if the ids are those of whole characters.
    std::string decode(std::span<const std::int32_t> ids) const;

    std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(texts_.size()); }
    bool is_byte_level() const { return std::holds_alternative<Bpe>(model_); }
    // The tokens as the file spells them, and their types.
    std::span<const std::string> texts() const { return texts_; }
    std::span<const TokenType> types() const { return types_; }
    bool adds_space() const { return adds_space_; }  // in front of a text
    std::optional<std::int32_t> unknown() const { return unknown_; }

  private:
    GgufTokenizer(std::variant<Bpe, SentencePiece> model) : model_(std::move(model)) {}
    std::optional<std::string> encode_pieces(std::string_view text, std::vector<std::int32_t>& ids) const;

    std::variant<Bpe, SentencePiece> model_;
    std::vector<std::string> texts_;
    std::vector<TokenType> types_;
    AddedTokens in_text_;                                 // SentencePiece's; Bpe has its own
    std::optional<std::int32_t> first_, last_, unknown_;  // around a text; of a character without a token
    bool adds_space_ = false;
};

}  // namespace attn
