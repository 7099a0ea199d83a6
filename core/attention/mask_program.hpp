// A mask as the lines of Python that make it, for the libraries in which attention is written.
#pragma once

#include <string>

#include "attention/mask.hpp"

namespace attn {

enum class MaskProgram { torch, flex_attention, jax, numpy };
inline constexpr int mask_program_count = 4;
inline constexpr const char* mask_program_names[mask_program_count] = {"PyTorch", "FlexAttention", "JAX",
                                                                       "NumPy"};

// The program leaves a boolean array [queries, keys] in `allowed`, true where the query may look at the key,
// as PyTorch's scaled_dot_product_attention and jax.nn.dot_product_attention take it. The program for
// FlexAttention (Dong et al. 2024, arXiv 2412.05496) defines `mask_mod(b, h, q_idx, kv_idx)` and makes a
// block mask from it.
std::string mask_program(const Mask& mask, Index head, Index queries, Index keys, MaskProgram form);

}  // namespace attn
