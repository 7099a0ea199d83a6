#pragma once

#include "kernels/table.hpp"

namespace attn {

void portable_attention(const AttentionCall& call);

}  // namespace attn
