// What q, k and v are made of where that can be edited: X and the projections of one head.
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

// Nothing if the subject's projections cannot be edited.
std::optional<Projections> projections_of(const State& state, Subject& subject);

}  // namespace attn::app
