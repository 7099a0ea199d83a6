// Seeded sentences in the English of story books, on the topics of tutorials on attention: pronouns,
// agreement across a distance, attachment, word senses, repeated names, adjectives and their nouns.
//
// In a causal model, pronouns need care. In "The animal didn't cross the street because it was too tired",
// the pronoun comes before the adjective, so its attention row is the same in the twin "… too wide": nothing
// can be resolved there. A pronoun text therefore continues, in one of two ways, to a place after the
// adjective that must be resolved:
//   "… too tired. It lay down on the ground."   "… too wide. It ran on to the hills."
//   "… too tired. The animal lay down …"        "… too wide. The street ran on …"
// Every noun has deeds of its own, so the loss rewards a head that carries the right noun to the second "It".
// After ". The", the logits of the two nouns show which one the model has in mind.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The same seed gives the same paragraphs on every platform. They are ASCII, of one to a few
// sentences, without line breaks.
class SentenceWriter {
  public:
    explicit SentenceWriter(std::uint64_t seed) : random_(seed) {}
    std::string paragraph();

  private:
    Random random_;
};

// Twin texts that differ only in the adjective; twin i is about noun[i]. Ranges are in characters (bytes).
struct PronounPair {
    std::array<std::string, 2> noun, adjective;
    std::array<std::string, 2> text;    // up to and including the second " It"
    std::array<std::string, 2> prompt;  // up to and including the second " The": noun[i] should follow
    std::array<Range, 2> mention;       // where noun[0] and noun[1] are in both twins
    std::array<Range, 2> pronoun;       // the second "It", in text[i]
};

// Returns at least 500 pairs, the tutorial's first. In no paragraph() do the two nouns of a
// pair compete for a pronoun.
std::vector<PronounPair> held_out_pairs();

}  // namespace attn
