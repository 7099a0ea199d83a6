// What every head does with random tokens that come twice: whether it looks at the token before, at the copy before, or
// at what followed that copy, which is what makes an induction head (Olsson et al. 2022, arXiv 2209.11895).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/head_scores.hpp"
#include "model/model.hpp"

namespace attn {

struct RepeatedTokenScores {
    HeadScores head;              // over the whole sequence, mean of the sequences
    double duplicate_stripe = 0;  // mean weight, over the second copy, of the same token in the first
    double induction_stripe = 0;  // and of the token after that one
};

// Mean weight of the queries of the second copy, of a record of 2 · period tokens, on the key `back` before them: period
// for the same token, period − 1 for the one after it.
double stripe(const Record& record, Index head, Index period, Index back);

// [layers][heads], the mean over `sequences` sequences of `period` seeded random ids from `first_id` on, given twice. An
// error where twice the period is more than the context.
Result<std::vector<std::vector<RepeatedTokenScores>>> score_repeated_tokens(
    const std::shared_ptr<const Model>& model, Index period, Index sequences, Index first_id,
    std::uint64_t seed);

}  // namespace attn
