// The table of gradient kernels for one vector type.
#pragma once

#include "kernels/simd/backward_activation.hpp"
#include "kernels/simd/backward_attention.hpp"
#include "kernels/simd/backward_linear.hpp"
#include "kernels/simd/backward_norm.hpp"
#include "kernels/simd/training.hpp"

namespace attn::simd {

template <class V>
constexpr BackwardKernels backward_over(std::string_view name) {
    return {.name = name,
            .attention = attention_backward<V>,
            .linear = linear_backward<V>,
            .layer_norm = layer_norm_backward<V>,
            .rms_norm = rms_norm_backward<V>,
            .activate = activate_backward<V>,
            .cross_entropy = cross_entropy<V>,
            .adamw = adamw<V>,
            .sum_of_squares = sum_of_squares<V>};
}

}  // namespace attn::simd
