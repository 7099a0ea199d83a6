// Reads what a model's scores.json says of its heads, as `attn card` writes it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// Returns the scores of these keys for a model of so many layers and heads, [layers, heads, keys]: numbers
// from 0 to 1, NaN for those that are left out. Each head must be there once.
Result<std::vector<double>> parse_head_scores(std::span<const std::byte> json, Index layers, Index heads,
                                              std::span<const std::string_view> keys);

}  // namespace attn
