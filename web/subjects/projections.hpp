// What makes a head's q, k and v of the numbers before them: X and the weights of its projections.
#pragma once

#include <optional>
#include <vector>

#include "app/matrix.hpp"
#include "model/network.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

// q, k and v as X W, one head; queries and keys are the same tokens. Of a model's many components of X, and of the rows of
// W, only some are here.
struct Projections {
    Matrix x, w_q, w_k, w_v;            // [n, components], [components, d_k], …
    Index first = 0;                    // of the components
    std::optional<Rotary> rotary = {};  // none: q and k are not turned
    Stage of_x = Stage::x;              // what the numbers of X are
    bool operator==(const Projections&) const = default;
};

// Returns those that can be edited; nothing if the subject's q, k and v were not made of any here.
std::optional<Projections> edited_projections(Subject& subject, const State& state);

}  // namespace attn::app
