// Runs a model's text under another mask, and compares its predictions with the original run's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/forward.hpp"
#include "model/generate.hpp"
#include "runs/attention.hpp"

namespace attn::app {

class MaskedRun {
  public:
    // Starts again if the run, the predicted token or the mask has changed.
    Status follow(const Attention& attention, const Mask& mask);
    void forget() { *this = {}; }
    bool step();  // a slice; true while there is more to do
    bool working() const { return forward_.has_value(); }
    bool done() const { return !after_.empty(); }
    float progress() const { return forward_ ? forward_->progress() : 1; }

    // The logits of the predicted token, [vocabulary].
    const std::vector<float>& before() const { return before_; }
    const std::vector<float>& after() const { return after_; }
    // Their softmax, in double.
    const std::vector<double>& chances_before() const { return chances_before_; }
    const std::vector<double>& chances_after() const { return chances_after_; }
    // The most likely tokens of either run, ordered by the original run.
    const std::vector<std::int32_t>& tokens() const { return tokens_; }
    Index predicted() const { return predicted_; }
    // ½ Σ |p − p′|: the probability mass that moved.
    double moved() const { return moved_; }

  private:
    std::uint64_t version_ = 0;  // version of the attention; 0: none
    Mask mask_;
    std::optional<ForwardPass> forward_;
    std::optional<Error> failure_;
    std::vector<float> before_, after_;
    std::vector<double> chances_before_, chances_after_;
    std::vector<std::int32_t> tokens_;
    Index predicted_ = 0;
    double moved_ = 0;
};

// Returns which of a model's attentions these heads belong to.
AttentionKind kind_of(const Attention& attention);

// The softmax of logits, in double.
std::vector<double> probabilities_of(std::span<const float> logits);

}  // namespace attn::app
