// A number for each token that a run reads.
#pragma once

#include <span>
#include <vector>

#include "model/trace.hpp"

namespace attn {

// Says whether an attention's keys are the tokens that an encoder read.
constexpr bool has_encoder_keys(AttentionKind kind) {
    return kind == AttentionKind::cross || kind == AttentionKind::encoder;
}

struct TokenShares {
    std::vector<double> own;      // the run's text, [n]
    std::vector<double> encoded;  // the text that its encoder read, or none

    explicit TokenShares(const Trace& trace)
        : own(static_cast<std::size_t>(trace.tokens())),
          encoded(static_cast<std::size_t>(trace.encoder() ? trace.encoder()->tokens() : 0)) {}
    const std::vector<double>& of(bool in_encoder) const { return in_encoder ? encoded : own; }
    // The shares of the tokens that such an attention has as keys.
    std::vector<double>& keys_of(AttentionKind kind) { return has_encoder_keys(kind) ? encoded : own; }
    double total() const {
        double sum = 0;
        for (const auto* each : {&own, &encoded})
            for (const double share : *each) sum += share;
        return sum;
    }
};

// The first `tokens` tokens of a text, the most important one first: the sum of its sizes in all measures,
// each as a share of the measure's largest.
std::vector<Index> by_importance(std::span<const TokenShares* const> measures, bool in_encoder, Index tokens);

}  // namespace attn
