// Keeps a row of a run's logits, and its likeliest tokens.
#pragma once

#include <memory>
#include <vector>

#include "model/generate.hpp"
#include "model/trace.hpp"

namespace attn::app {

struct LikeliestTokens {
    static constexpr Index most = 20;

    std::shared_ptr<const Trace> trace = {};
    Index row = 0;
    Tensor logits = {};  // [1, vocabulary]
    std::vector<Candidate> tokens = {};

    // Null: there is no run.
    void read(std::shared_ptr<const Trace> of, Index at) {
        if (of == trace && at == row) return;
        *this = {std::move(of), at};
        if (!trace) return;
        logits = trace->logits({row, row + 1});
        tokens = next_token_distribution(logits.values(), {.temperature = 1}, most);
    }
};

}  // namespace attn::app
