// Leaves heads out of a network: they add nothing to the residual stream and get no gradient.
#pragma once

#include <span>

#include "attention/head_index.hpp"
#include "train/parameters.hpp"

namespace attn {

// Sets the weights with which W_O reads these heads to 0, so that any run of the model leaves them out.
void zero_output_weights(const ModelConfig& config, const ParameterLayout& layout,
                         std::span<const HeadIndex> heads, std::span<float> parameters);

}  // namespace attn
