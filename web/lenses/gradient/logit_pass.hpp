// A logit of a model's text, brought back to the output of a head: by the backward pass, and once more by running the
// model with that output moved.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/attribution/logit_gradient.hpp"
#include "attention/head_index.hpp"
#include "model/forward.hpp"
#include "model/generate.hpp"

namespace attn::app {

// Tokens to choose from, the likeliest.
inline constexpr Index likeliest_offered = 20;

class LogitPass {
  public:
    // Begins anew if the text or the row of its logits is another one. The likeliest tokens are then known at once.
    void read(std::shared_ptr<const Trace> trace, Index row);
    const std::vector<Candidate>& likeliest() const { return likeliest_; }

    // Begins anew if the loss, of this row, is another one. Fails if the vocabulary has no such token.
    Status ask(LogitLoss loss);
    const std::optional<LogitGradient>& gradient() const { return gradient_; }

    // What is wanted next: ∂L/∂O[token] of this head, then the same by central differences.
    void go_to(const HeadIndex& head, Index token);
    bool done() const;
    bool step();                            // a slice; true while there is more to do
    std::span<const float> slopes() const;  // [head_dim]; empty while step() has not come by
    std::span<const float> output_slopes()
        const;  // by what the layer's heads write for the token, [d_model]; likewise
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

}  // namespace attn::app
