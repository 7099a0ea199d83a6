// Measures what every head does with random tokens that are repeated once: whether it attends to the previous
// token, to the earlier copy, or to the token that followed that copy, which makes it an induction head
// (Olsson et al. 2022, arXiv 2209.11895). The encoder and the decoder of a model read the same tokens, the
// decoder with the start token in place of the first. What relates positions of one text is NaN for
// cross-attention.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/heads/head_scores.hpp"
#include "model/forward.hpp"
#include "tensor/random.hpp"

namespace attn {

struct RepeatedTokenScores {
    HeadScores head;              // over the whole sequence, averaged over the sequences
    double duplicate_stripe = 0;  // mean weight, over the second copy, of the same token in the first
    double induction_stripe = 0;  // likewise, of the token after that one
};

// Returns the mean weight that the queries of the second copy, in a record of 2 · period tokens, give to the
// key `back` before them: period is the same token, period − 1 the one after it.
double stripe(const Record& record, Index head, Index period, Index back);

// Indexed by the number of the attention (Network::attentions), then by head.
using RepeatedTokenTable = std::vector<std::vector<RepeatedTokenScores>>;

// Measures in slices: the mean over `sequences` sequences of `period` seeded random ids from `first_id` on,
// each repeated once.
class RepeatedTokens {
  public:
    // It is an error if twice the period exceeds the context.
    static Result<RepeatedTokens> start(std::shared_ptr<const Model> model, Index period, Index sequences,
                                        Index first_id, std::uint64_t seed);
    // Does a slice of a forward pass, or measures a head; true while there is more to do.
    Result<bool> step();
    const RepeatedTokenTable& scores() const { return scores_; }  // complete when step() has returned false

  private:
    RepeatedTokens() = default;
    Status begin_sequence();
    void measure(Index layer, Index head);

    std::shared_ptr<const Model> model_;
    Index period_ = 0, sequences_ = 0, first_id_ = 0;
    Random random_{0};
    std::optional<ForwardPass> forward_;
    std::shared_ptr<const Trace> trace_;
    Index sequence_ = 0, next_ = 0;  // the head measured next, of attentions · heads
    RepeatedTokenTable scores_;
};

// The same at once.
Result<RepeatedTokenTable> score_repeated_tokens(const std::shared_ptr<const Model>& model, Index period,
                                                 Index sequences, Index first_id, std::uint64_t seed);

}  // namespace attn
