// Computes the gradient of a logit with respect to the output of a head: by the backward pass, and once more
// by running the model with that output changed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/logit_gradient.hpp"
#include "attention/head_index.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"

namespace attn {

// tokens to choose from
inline constexpr Index likeliest_offered = 20;

class LogitPass {
  public:
    // Starts again if the text or the row of its logits has changed. The most likely tokens are then known at
    // once.
    void read(std::shared_ptr<const Trace> trace, Index row);
    const std::vector<Candidate>& likeliest() const { return likeliest_; }

    // Starts again if the loss for this row has changed. Fails if the vocabulary lacks the token.
    Status ask(LogitLoss loss);
    const std::optional<LogitGradient>& gradient() const { return gradient_; }

    // Requests ∂L/∂O[token] of this head, then the same by central differences.
    void go_to(const HeadIndex& head, Index token);
    bool done() const;
    bool step();                            // a slice; true while there is more to do
    std::span<const float> slopes() const;  // [head_dim]; empty until step() has reached them
    std::span<const float> output_slopes()
        const;  // with respect to what the layer's heads write for the token, [d_model]; otherwise the same
    // (L(+h) − L(−h)) / 2h of each component, as far as they are known.
    const std::vector<double>& differences() const { return differences_; }

  private:
    bool run_moved();
    void forget_differences();

    std::shared_ptr<const Trace> trace_;
    Index row_ = 0;
    std::vector<Candidate> likeliest_;
    std::optional<LogitLoss> loss_;
    std::optional<LogitGradient> gradient_;
    HeadIndex head_;
    Index token_ = 0;
    std::vector<double> differences_;
    std::optional<ForwardPass> moved_;
    std::optional<double> above_;  // L with the component raised by h
    bool failed_ = false;          // the model cannot be run again
};

}  // namespace attn
