// What a network is trained on: sequences of tokens, each a function of the seed, the step and its place in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/bpe.hpp"
#include "train/trainer.hpp"

namespace attn {

// Shares of the kinds of sequences, not negative; their sum is taken as 1.
struct Mixture {
    double text = 1;             // a stretch of the text
    double sentences = 0;        // the paragraphs of train/sentences.hpp
    double repeated_text = 0;    // a stretch of the text, again and again: induction over words
    double repeated_random = 0;  // random tokens, again and again: nothing but induction foretells them
    // Random pairs of tokens, again and again in another order: the second of a pair is foretold by the first alone, whatever
    // stands before, so that it pays to tell the previous token from those around it.
    double repeated_pairs = 0;
};

// `text` are the tokens of the texts one after another. Special tokens of the vocabulary, whose ids come first, are never
// drawn. An error where a kind that is wanted cannot be made: no text, or one shorter than a sequence.
Result<Batches> mixed_batches(std::shared_ptr<const Bpe> tokenizer, std::vector<std::int32_t> text,
                              Index context, Index special_tokens, const Mixture& mixture,
                              std::uint64_t seed);

}  // namespace attn
