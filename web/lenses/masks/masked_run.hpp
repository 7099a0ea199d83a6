// A model's text under another mask, beside the run as it is: what it predicts.
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
    // Begins anew if the run, the predicted token or the mask is another one.
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
    // Tokens that either run finds likeliest, the likeliest as it is first.
    const std::vector<std::int32_t>& tokens() const { return tokens_; }
    Index predicted() const { return predicted_; }
    // Half of Σ |p − p'|: how much probability has moved.
    double moved() const { return moved_; }

  private:
    std::uint64_t version_ = 0;  // of the attention; 0: of none
    Mask mask_;
    std::optional<ForwardPass> forward_;
    std::optional<Error> failure_;
    std::vector<float> before_, after_;
    std::vector<double> chances_before_, chances_after_;
    std::vector<std::int32_t> tokens_;
    Index predicted_ = 0;
    double moved_ = 0;
};

// Which of a model's attentions these heads are of.
AttentionKind kind_of(const Attention& attention);

// The softmax of logits, in double.
std::vector<double> probabilities_of(std::span<const float> logits);

}  // namespace attn::app
