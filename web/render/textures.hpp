// Keeps textures by key: uploaded when first drawn, dropped when no longer drawn, uploaded again in a new
// context.
#pragma once

#include <imgui.h>

#include <compare>
#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace attn::render {

// Identifies the owner of the contents and which of them it is. The same key and version always stand for the
// same contents.
struct TextureKey {
    const void* owner = nullptr;
    std::uint64_t number = 0;
    auto operator<=>(const TextureKey&) const = default;
};

// Binds values to the active unit. values [rows, cols], at most 2048 per side; −inf means masked and inf not
// known yet. They are encoded so that both, and NaN, survive any sampler (shaders/heatmap.frag).
void bind_values(TextureKey key, std::uint64_t version, std::span<const float> values, Index rows,
                 Index cols);
// Binds one row of colours, uploaded again after a change of theme.
void bind_colours(TextureKey key, std::span<const ImU32> colours);

}  // namespace attn::render
