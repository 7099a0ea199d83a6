// Shapes of models that many people know, and of those that this page brings along.
#pragma once

#include <array>

#include "analysis/cost/model_cost.hpp"

namespace attn {

struct KnownModel {
    const char* name;
    ModelShape shape;
};
// storyteller and translator in models/, then gpt2, gpt2-medium (Radford et al. 2019) and Meta-Llama-3-8B
// (Dubey et al. 2024, arXiv 2407.21783), as their released configs say.
const std::array<KnownModel, 5>& known_models();

}  // namespace attn
