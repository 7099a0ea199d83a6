// Textures by key: uploaded when first drawn, dropped when no longer drawn, uploaded again in a new context.
#pragma once

#include <imgui.h>

#include <compare>
#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace attn::render {

// Whose contents, and which of them: the same key and version stand for the same contents.
struct TextureKey {
    const void* owner = nullptr;
    std::uint64_t number = 0;
    auto operator<=>(const TextureKey&) const = default;
};

// Bind to the active unit. values [rows, cols], at most 2048 a side, where −inf means masked and inf not known yet; written
// so that they and NaN survive any sampler (shaders/heatmap.frag).
void bind_values(TextureKey key, std::uint64_t version, std::span<const float> values, Index rows,
                 Index cols);
// One row of colours; uploaded again when the theme has changed.
void bind_colours(TextureKey key, std::span<const ImU32> colours);

}  // namespace attn::render
