// The tiles in which the fused kernels compute attention: one of which the mask hides every cell is skipped.
#pragma once

#include "tensor/tensor.hpp"

namespace attn {

// Tiles begin at multiples of these.
inline constexpr Index attention_tile_queries = 48, attention_tile_keys = 64;

}  // namespace attn
