// How far a logit falls without each token that a run reads: one run for each token, in which no query sees
// its key (without_tokens).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/effects.hpp"
#include "analysis/attribution/token_shares.hpp"

namespace attn {

class TokenAblation {
  public:
    // Begins with the tokens that matter most to these measures. Fails as AblationEffects does.
    static Result<TokenAblation> start(const std::shared_ptr<const Trace>& trace, Index row,
                                       std::int32_t token, std::span<const TokenShares* const> measures,
                                       double slice_operations = operations_of_a_frame);

    bool step();  // a slice of a run; true while there is more to do
    bool done() const { return known() == runs(); }
    Index runs() const { return std::ssize(order_); }
    Index known() const { return std::ssize(effects_.effects()); }
    double logit() const { return effects_.value(); }  // in the run as it is
    // NaN where it is not known yet. Tokens after the row of a causal text do not affect it: 0.
    const TokenShares& falls() const { return falls_; }
    // Once done: the rank correlation of a measure with the falls, over the tokens that can affect the row. A
    // measure without signs is compared with their sizes. Nothing if fewer than two numbers are finite.
    std::optional<double> agreement(const TokenShares& measure, bool is_signed) const;

  private:
    TokenAblation(AblationEffects effects, std::vector<Index> order, Index own, TokenShares falls);

    AblationEffects effects_;
    std::vector<Index> order_;  // variants of without_tokens in the order in which they run
    Index own_;                 // tokens of the run's text that can affect the row
    TokenShares falls_;
};

}  // namespace attn
