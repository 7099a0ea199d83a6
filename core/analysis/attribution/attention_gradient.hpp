// Attention × gradient: every weight of every head times how fast a logit grows with it, where both are above
// 0, added up over the queries of all heads (Barkan et al. 2021, "Grad-SAM", arXiv 2204.11073; Chefer, Gur &
// Wolf 2021, arXiv 2103.15679). It says which tokens are attended to usefully, not by how much the logit
// would fall without them.
#pragma once

#include <memory>
#include <optional>

#include "analysis/attribution/logit_gradient.hpp"
#include "analysis/attribution/token_shares.hpp"

namespace attn {

class AttentionGradient {
  public:
    // Fails if the vocabulary has no such token, or the text no such row.
    static Result<AttentionGradient> start(const std::shared_ptr<const Trace>& trace, Index row,
                                           std::int32_t token, double slice_operations = 60e6);

    bool step();  // one slice of the backward pass, later some rows; true while there is more to do
    bool done() const { return done_; }
    double progress() const;  // half of it is the way back
    // Each token's part of the whole, once done; all 0 where no weight helps.
    const TokenShares& shares() const { return shares_; }
    double total() const { return total_; }  // what they are parts of
    // What an attention has for each of its keys, before it is made a part of the whole.
    const std::vector<double>& keys_of(Index attention) const {
        return keys_[static_cast<std::size_t>(attention)];
    }

  private:
    explicit AttentionGradient(LogitGradient gradient);
    LogitGradient gradient_;
    Index number_ = 0, query_ = 0;           // the attention at work and its query
    std::vector<std::vector<double>> keys_;  // one for each attention
    TokenShares shares_;
    double total_ = 0;
    bool done_ = false;
};

}  // namespace attn
