// How much of each token arrives at one row if every half of every layer is taken to hand on half of what it
// has and half of what its attention mixes, the mean over heads: attention rollout (Abnar & Zuidema 2020,
// arXiv 2005.00928). In an encoder–decoder, cross-attention leads on into the encoder.
#pragma once

#include <memory>
#include <vector>

#include "analysis/attribution/token_shares.hpp"

namespace attn {

class Rollout {
  public:
    Rollout(std::shared_ptr<const Trace> trace, Index row);

    bool step();  // some rows of an attention, from the last to the first; true while there is more to do
    bool done() const { return next_.empty(); }
    double progress() const {
        return 1 - static_cast<double>(next_.size()) / static_cast<double>(trace_->attentions());
    }
    const TokenShares& shares() const { return shares_; }  // their sum is 1
    // The shares of the first attention's queries, which it mixes last.
    const std::vector<double>& before_first() const { return before_first_; }
    // What that attention's query takes of a key, half of it by itself.
    double mixed_first(Index query, Index key) const;

  private:
    std::shared_ptr<const Trace> trace_;
    std::vector<Index> next_;  // the attentions that are still to be passed, the first one last
    Index query_ = 0;          // the attention at work and its query
    std::vector<double> mixed_, before_first_;
    TokenShares shares_;
};

}  // namespace attn
