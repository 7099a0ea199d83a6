// The table of kernels for one vector type.
#pragma once

#include "kernels/simd/attention.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/linear.hpp"
#include "kernels/simd/pool.hpp"

namespace attn::simd {

template <class V>
constexpr Kernels kernels_over(std::string_view name) {
    return {.name = name,
            .attention_tile = {tile_queries, tile_keys},
            .attention = attention<V>,
            .dot_products = dot_products<V>,
            .linear = linear<V>,
            .softmax = softmax<V>,
            .weights = weights<V>,
            .soft_cap = soft_cap<V>,
            .pool = pool<V>,
            .layer_norm = layer_norm<V>,
            .rms_norm = rms_norm<V>,
            .activate = activate_all<V>,
            .rope = rope<V>};
}

}  // namespace attn::simd
