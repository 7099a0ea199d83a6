// Finds the projections that a person can edit.
#pragma once

#include <optional>

#include "runs/projections.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

// Returns the projections that can be edited; nothing if the subject's q, k and v did not come from any here.
std::optional<Projections> edited_projections(Subject& subject, const State& state);

}  // namespace attn::app
