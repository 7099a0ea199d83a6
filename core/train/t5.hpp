// A T5 (model/t5.cpp) that is to be trained: its configuration, its weights, and the numbers that they begin
// with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/families.hpp"
#include "train/parameters.hpp"

namespace attn {

// Reads the bytes of a config.json, which has to be a T5's with an end token in its vocabulary.
Result<ModelConfig> parse_t5_config(std::span<const std::byte> json);
std::int32_t end_id(const ModelConfig& config);

// Block by block, the order in which initial numbers are drawn.
Result<ParameterLayout> t5_layout(const ModelConfig& config);

// Returns a name's beginning: "encoder.block.0.layer.1." is half 1 of block 0.
std::string t5_half(const char* stack, Index block, Index half);

// Matrices are normal, each with the deviation that transformers' T5 gives it; gains are 1.
ParameterBuffer initial_t5_parameters(const ParameterLayout& layout, const ModelConfig& config,
                                      std::uint64_t seed);

}  // namespace attn
