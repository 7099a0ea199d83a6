// What makes a head's q, k and v of the numbers before them: X and the weights of its projections.
#pragma once

#include <optional>

#include "app/matrix.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

// q, k and v as X W, one head; queries and keys are the same tokens.
struct Projections {
    Matrix x, w_q, w_k, w_v;  // [n, d_model], [d_model, d_k], …
    bool operator==(const Projections&) const = default;
};

// Returns those that can be edited; nothing if the subject's q, k and v were not made of any here.
std::optional<Projections> edited_projections(Subject& subject, const State& state);

}  // namespace attn::app
