// Seeded sentences in the English of story books that carry what tutorials on attention talk about: pronouns,
// agreement across distance, attachment, word senses, repeated names, adjectives and their nouns.
//
// Pronouns in a causal model. In "The animal didn't cross the street because it was too tired" the pronoun comes
// before the adjective, so its attention row is the same in the twin "… too wide": nothing there can be resolved.
// A pronoun text therefore goes on, in one of two ways, to a place after the adjective that must be resolved:
//   "… too tired. It lay down on the ground."   "… too wide. It ran on to the hills."
//   "… too tired. The animal lay down …"        "… too wide. The street ran on …"
// Every noun has deeds of its own, so the loss rewards a head that carries the right noun to the second "It"; and
// after ". The" the logits of the two nouns say which one the model has in mind.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The same seed gives the same paragraphs on every platform. ASCII; one to a few sentences, no line break.
class SentenceWriter {
  public:
    explicit SentenceWriter(std::uint64_t seed) : random_(seed) {}
    std::string paragraph();

  private:
    Random random_;
};

// Twin texts that differ in one word, the adjective; twin i is about noun[i]. Ranges are in characters (bytes).
struct PronounPair {
    std::array<std::string, 2> noun, adjective;
    std::array<std::string, 2> text;    // up to and including the second " It"
    std::array<std::string, 2> prompt;  // up to and including the second " The": noun[i] should follow
    std::array<Range, 2> mention;       // of noun[0] and noun[1] in either twin
    std::array<Range, 2> pronoun;       // the second "It", in text[i]
};

// At least 500, the tutorial's first. No paragraph() has the two nouns of a pair compete for a pronoun.
std::vector<PronounPair> held_out_pairs();

}  // namespace attn
