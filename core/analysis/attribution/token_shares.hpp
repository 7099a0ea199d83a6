// A number for each token that a run reads.
#pragma once

#include <vector>

#include "model/trace.hpp"

namespace attn {

struct TokenShares {
    std::vector<double> own;      // the run's text, [n]
    std::vector<double> encoded;  // the text that its encoder read, or none

    explicit TokenShares(const Trace& trace)
        : own(static_cast<std::size_t>(trace.tokens())),
          encoded(static_cast<std::size_t>(trace.encoder() ? trace.encoder()->tokens() : 0)) {}
    // The shares of the tokens that such an attention has as keys.
    std::vector<double>& keys_of(AttentionKind kind) {
        return kind == AttentionKind::cross || kind == AttentionKind::encoder ? encoded : own;
    }
    double total() const {
        double sum = 0;
        for (const auto* each : {&own, &encoded})
            for (const double share : *each) sum += share;
        return sum;
    }
};

}  // namespace attn
