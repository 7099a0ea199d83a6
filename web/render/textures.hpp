// Textures by key: uploaded when first drawn, dropped when no longer drawn, uploaded again in a new context. The
// same key stands for the same contents.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace attn::render {

std::uint64_t new_key();

// Bind to the active unit. values [rows, cols], at most 2048 a side, where −inf means masked; written so that
// masked and NaN survive any sampler (shaders/heatmap.frag).
void bind_values(std::uint64_t key, std::span<const float> values, Index rows, Index cols);
// One row of colours; uploaded again when the theme has changed.
void bind_colours(std::uint64_t key, std::span<const ImU32> colours);

}  // namespace attn::render
