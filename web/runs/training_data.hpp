// Makes the data that a training plan trains on, and the sequences that measure its network while it learns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runs/training_plan.hpp"
#include "text/bpe.hpp"

namespace attn::app {

struct TrainingData {
    std::shared_ptr<const Bpe> tokenizer;  // null if tokens are symbols
    std::vector<std::int32_t> text;        // own_text as tokens
    Index vocabulary = 0;                  // the tokens of own_text
    // A sequence of the task, the same for every seed, whose maps are shown. For symbols, it is a training
    // sequence from a step before the first.
    std::vector<std::int32_t> probe;
    std::vector<std::int32_t> probe_targets;  // the next tokens; −1: not counted, as in training
    std::vector<std::string> probe_pieces;    // the text of each token
    // Repeated random tokens, for the induction score: at most half as many as the vocabulary has, so that
    // few coincide by chance; empty if that is fewer than two.
    std::vector<std::int32_t> repeated;

    Result<Batches> batches(const TrainingPlan& plan, std::uint64_t seed) const;
};

// Says whether tokens are the text's bytes, because a short text has too few repeated pieces to learn.
bool reads_bytes(const TrainingPlan& plan);
// Returns one sentence about what the plan's text lacks, as far as that is known before it is split into
// tokens.
Status check_text(const TrainingPlan& plan);

// Learns a vocabulary if the plan needs one. It is an error if the text is missing or shorter than a
// sequence.
Result<TrainingData> training_data(const TrainingPlan& plan);

// Returns the probe as a user would type it: symbols separated by blanks, or a text up to its last whole
// character.
std::string probe_text(const TrainingData& data);

// Returns the text of a token of the data's vocabulary.
std::string piece_of(const TrainingData& data, std::int32_t id);
// Returns the name of symbol `id` of a symbol task: "|" for the separator, then A … Z, a … z and numbers.
std::string symbol_name(std::int32_t id);
// Returns the names of all symbols, as "| A … Z a … z 53 … 63".
std::string symbols_told(Index vocabulary);

}  // namespace attn::app
