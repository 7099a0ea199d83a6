// The vocabulary that the English and French sentences of train/translation.hpp share: every word is one
// piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

class PieceVocabulary {
  public:
    static constexpr std::int32_t padding = 0, end = 1, unknown = 2;  // the same as T5's

    PieceVocabulary();

    std::int32_t size() const;
    const std::string& piece(std::int32_t id) const { return pieces_[static_cast<std::size_t>(id)]; }
    // The ids of a sentence, and that of its end.
    std::vector<std::int32_t> ids(std::span<const std::string> pieces) const;

    // Writes a tokenizer.json as T5 has it: a unigram model (Kudo 2018, arXiv 1804.10959) whose pieces all
    // have the same probability, so that a text becomes the fewest pieces, and the end after them.
    std::string to_json() const;

  private:
    void add(std::string piece);
    void add_words(std::string_view words);  // separated by spaces or '|'
    void add_capital(std::string_view word);
    void add_french(std::string_view words);  // also as they follow an apostrophe

    std::vector<std::string> pieces_;
    std::unordered_map<std::string, std::int32_t> ids_;
};

}  // namespace attn
