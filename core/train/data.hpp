// Makes what a network is trained on: sequences of tokens, each a function of the seed, the step
// and its place in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/bpe.hpp"
#include "train/trainer.hpp"

namespace attn {

// The shares of the kinds of sequences. They must not be negative, and are divided by their sum.
struct Mixture {
    double text = 1;             // a stretch of the text
    double sentences = 0;        // the paragraphs of train/sentences.hpp
    double repeated_text = 0;    // a stretch of the text, repeated: induction over words
    double repeated_random = 0;  // random tokens, repeated: only induction predicts them
    // Random pairs of tokens, repeated in changing order: the second of a pair is predicted by the first
    // alone, whatever comes before, so that it pays to tell the previous token from those around it.
    double repeated_pairs = 0;
};

// `text` holds the tokens of all texts one after another. The vocabulary's special tokens, which have the
// first ids, are never drawn. It is an error if a requested kind cannot be made: there is no text, or it is
// shorter than a sequence.
Result<Batches> mixed_batches(std::shared_ptr<const Bpe> tokenizer, std::vector<std::int32_t> text,
                              Index context, Index special_tokens, const Mixture& mixture,
                              std::uint64_t seed);

}  // namespace attn
