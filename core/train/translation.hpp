// Seeded pairs of an English sentence and the French one that says the same, with the words that correspond.
//
// The two differ where the languages do: adjectives stand before or after their noun, articles, adjectives
// and participles agree, also across a relative clause, negations have two parts, pronouns come before the
// verb, and one word can be several ("sat", "s'est assis") or several one ("of the", "du").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Sentences are lists of pieces. A piece that follows a space begins with "▁", and so does the first, like in
// the vocabularies of SentencePiece (Kudo & Richardson 2018, arXiv 1808.06226). A sentence has at most this
// many, with its end.
inline constexpr Index most_translation_tokens = 32;

struct Translation {
    std::vector<std::string> english, french;
    std::vector<std::vector<Index>>
        sources;  // for each French piece, the English pieces that it comes from, ascending
    bool held_out = false;
    bool combines = false;  // words that no pair combines which is not held out
};

// The same seed gives the same pairs on every platform. A tenth of the pairs, about, is held out, as a
// function of the pair alone: by a hash of its English words, or because it combines an adjective with a noun
// or a noun with a verb that no other pair combines. So is "The cat sat on the mat".
class TranslationWriter {
  public:
    explicit TranslationWriter(std::uint64_t seed) : random_(seed) {}
    Translation next(bool held_out);

  private:
    Random random_;
};

std::vector<Translation> held_out_translations(Index count, std::uint64_t seed);

// "The cat sat." of "▁The", "▁cat", "▁sat" and ".".
std::string text_of(std::span<const std::string> pieces);

}  // namespace attn
