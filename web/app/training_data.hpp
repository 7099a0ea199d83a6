// What a training plan trains on, and the sequences by which its network is judged while it learns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/training_plan.hpp"
#include "text/bpe.hpp"

namespace attn::app {

struct TrainingData {
    std::shared_ptr<const Bpe> tokenizer;  // null where tokens are symbols
    std::vector<std::int32_t> text;        // of own_text, as tokens
    Index vocabulary = 0;                  // tokens
    // A sequence of the task, the same for every seed; its maps are shown. Symbols: one of those trained on, from a
    // step before the first.
    std::vector<std::int32_t> probe;
    std::vector<std::int32_t> probe_targets;  // the next tokens; −1: does not count, as in training
    std::vector<std::string> probe_pieces;    // how each token reads
    // Random tokens that come twice, for the score of induction: at most half as many as the vocabulary has, so that few
    // are the same by chance; empty where that leaves no two.
    std::vector<std::int32_t> repeated;

    Result<Batches> batches(const TrainingPlan& plan, std::uint64_t seed) const;
};

// Learns a vocabulary where the plan needs one. An error where its text supports no training: there is none, or it is
// shorter than a sequence.
Result<TrainingData> training_data(const TrainingPlan& plan);

// The probe as one would type it: symbols between blanks; of a text as far as its characters are whole.
std::string probe_text(const TrainingData& data);

// How symbol `id` of the tasks over symbols reads: "|" for the separator, then A … Z, a … z and numbers.
std::string symbol_name(std::int32_t id);

}  // namespace attn::app
