// Draws a field of values as coloured cells, inside ImGui's draw list and its clip rectangle.
#pragma once

#include <imgui.h>

#include <array>
#include <span>
#include <string>

#include "maps/value_scale.hpp"
#include "render/textures.hpp"

namespace attn::render {

struct Palette {
    std::array<ImU32, 256> colours{};
};

struct Heatmap {
    // Values [rows, cols], at most 2048 per side. −inf means masked; inf means unknown, and nothing is drawn
    // there. The values and the palette must not change until the frame is drawn.
    TextureKey key;
    std::uint64_t version = 1;  // version of the values under that key
    const float* values = nullptr;
    Index rows = 0, cols = 0;

    ImVec2 min, max;  // the rectangle drawn, in points
    ImVec2 origin;    // where cell (0, 0) begins
    ImVec2 cell;      // points per cell
    // The field is a row of tiles with this many columns, drawn this many points apart; 0: not tiled.
    Index tile_columns = 0;
    float tile_pitch = 0;

    const Palette* palette = nullptr;
    // Maps values to the palette. If cells share a pixel, the largest value shows or, on a diverging scale,
    // the one farthest from zero.
    ValueScale scale;
    std::uint64_t quantiles = 0;  // serial number of the scale's quantiles
    bool gaps = false;            // leaves a thin line of the background between cells
    ImU32 masked = 0, nan = 0;
};

void draw(ImDrawList* list, std::span<const Heatmap> heatmaps);

// Compiles the shaders early, so that the first heatmap need not wait for them.
void prepare_heatmaps();

// Gives the browser's message if nothing can be drawn here; empty if all is well.
const std::string& heatmap_fault();

}  // namespace attn::render
