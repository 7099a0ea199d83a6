#pragma once

#include "kernels/table.hpp"

namespace attn {

inline constexpr Index portable_tile_queries = 64, portable_tile_keys = 64;

void portable_attention(const AttentionCall& call);

}  // namespace attn
