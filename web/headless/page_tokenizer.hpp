// Turns texts into a model's tokens, with the same ids as the page's own tokenizer in JavaScript
// (web/shell/tokenizer.js).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/page.hpp"
#include "tensor/result.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe.hpp"

namespace attn::headless {

class PageTokenizer {
  public:
    // Reads byte-level BPE, a unigram model over words, and lists of words, which are what this house writes.
    // Everything else is refused by name.
    static Result<PageTokenizer> parse(std::span<const std::byte> tokenizer_json);

    // `ends` adds the tokens that the file puts around a text. A word without a token is an error.
    Result<std::vector<std::int32_t>> encode(std::string_view text, bool ends) const;

    // Returns the text of ids. Special tokens are left out.
    std::string decode(std::span<const std::int32_t> ids) const;
    // Returns the text in which all of these ids are written, special ones too, but those at its ends.
    std::string written(std::span<const std::int32_t> ids) const;
    // Returns what to show for each id of a text.
    std::vector<std::string> pieces(std::span<const std::int32_t> ids) const;

    const app::SpecialTokens& special() const { return special_; }
    // The tokens by id, as the file spells them.
    const std::vector<std::string>& vocabulary() const { return vocabulary_; }

  private:
    using Ids = std::vector<std::int32_t>;
    PageTokenizer() = default;
    Status read_vocabulary(const nlohmann::json& model);
    Status read_added(const nlohmann::json& file);
    Status read_ends(const nlohmann::json& processor);
    void find_special(std::optional<std::int32_t> unknown);
    bool knows(std::int32_t id) const {
        return id >= 0 && id < static_cast<std::int32_t>(vocabulary_.size());
    }
    bool is_added(std::int32_t id) const;
    std::string bytes_of(std::int32_t id) const;
    std::string joined(std::span<const std::int32_t> ids, bool with_special) const;
    std::optional<std::string> encode_words(std::string_view text, Ids& ids) const;
    std::optional<std::string> encode_word(std::string_view word, Ids& ids) const;
    void encode_unigram(std::string_view piece, Ids& ids) const;

    std::optional<Bpe> bpe_;
    std::vector<std::string> vocabulary_;
    std::unordered_map<std::string, std::int32_t> ids_;  // their keys are the spellings
    // A unigram model (Kudo 2018, arXiv 1804.10959) has these; its blanks are spelled "▁".
    std::vector<double> scores_;
    std::optional<std::int32_t> unknown_;
    double unknown_score_ = 0;
    std::size_t longest_ = 0;  // piece, in bytes

    AddedTokens in_text_;
    std::vector<std::int32_t> added_, never_shown_;  // all of them, and the special ones
    Ids before_, after_;                             // a text
    app::SpecialTokens special_;
};

}  // namespace attn::headless
