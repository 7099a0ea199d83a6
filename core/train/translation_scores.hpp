// Measures an encoder–decoder on held-out pairs: what it translates right, and how its heads align the words.
#pragma once

#include <vector>

#include "attention/head_index.hpp"
#include "train/encoder_decoder.hpp"
#include "train/piece_vocabulary.hpp"
#include "train/translation.hpp"

namespace attn {

struct TranslationScores {
    Index pairs = 0;
    double right = 0;      // the share whose greedy translation is the pair's own, piece by piece
    double combining = 0;  // the share that combines words as no pair of a batch does
    // For each head of the cross-attention: the share of the French words whose strongest weight, in the row
    // that writes the word, is on one of the English pieces that it comes from. A full stop is no word. The
    // pairs' own translations are read.
    struct Head {
        HeadIndex at;
        double aligned = 0;
    };
    std::vector<Head> heads;
    Head best;
};

TranslationScores score_translations(const EncoderDecoder& network, std::span<const float> parameters,
                                     const PieceVocabulary& vocabulary, std::span<const Translation> pairs);

// The likeliest token again and again, until the end or `most` tokens; with the end, if it came.
std::vector<std::vector<std::int32_t>> translate(const EncoderDecoder& network,
                                                 std::span<const float> parameters, const Sequences& sources,
                                                 Index most, EncoderDecoder::Activations& kept);

}  // namespace attn
