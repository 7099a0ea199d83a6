// Heads that take no part in a network: they add nothing to the residual stream and get no gradient.
#pragma once

#include <span>

#include "train/parameters.hpp"

namespace attn {

struct HeadIndex {
    Index layer = 0;
    Index head = 0;
    bool operator==(const HeadIndex&) const = default;
};

// Makes the weights 0 with which W_O reads these heads, so that any run of the model leaves them out.
void zero_output_weights(const ModelConfig& config, const ParameterLayout& layout,
                         std::span<const HeadIndex> heads, std::span<float> parameters);

}  // namespace attn
