// Measures how much each token that a run reads matters to a logit: the direct contribution of its values
// (direct_attribution.hpp), rollout, attention × gradient, and its ablation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/attention_gradient.hpp"
#include "analysis/attribution/direct_attribution.hpp"
#include "analysis/attribution/rollout.hpp"
#include "analysis/attribution/token_ablation.hpp"

namespace attn {

enum class TokenMeasure { direct, rollout, gradient, exact };
inline constexpr Index token_measure_count = 4;

class TokenMeasures {
  public:
    // Measures for another logit, once it is attributed. Rollout does not depend on the logit's token.
    void start(const DirectAttribution& parts, double slice_operations);
    // A slice, the ablation of tokens last, if it is wanted; true while there is more to do.
    bool step(bool with_ablation);

    // Null until it is known for all tokens.
    const TokenShares* measured(TokenMeasure measure) const;
    std::vector<const TokenShares*> all_measured() const;
    const Rollout& rollout() const { return *rollout_; }
    const AttentionGradient& gradient() const { return *gradient_; }
    const std::string& no_gradient() const {
        return no_gradient_;
    }  // why there is none; empty if there is one
    const TokenAblation* ablation() const {
        return ablation_ ? &*ablation_ : nullptr;
    }  // null until it begins
    // How well a measure agrees with the ablation; nothing until both are there.
    std::optional<double> agreement(TokenMeasure measure) const;

  private:
    std::shared_ptr<const Trace> trace_;
    Index row_ = 0;
    std::int32_t token_ = 0;
    double slice_operations_ = 0;
    std::optional<TokenShares> direct_;
    std::optional<Rollout> rollout_;
    std::optional<AttentionGradient> gradient_;
    std::string no_gradient_;
    std::optional<TokenAblation> ablation_;
};

}  // namespace attn
