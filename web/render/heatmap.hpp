// The heatmap pass: a field of values as coloured cells, inside ImGui's draw list and its clip rectangle.
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
    // [rows, cols], at most 2048 a side; −inf: masked, inf: not known yet, nothing is drawn. They and the palette stay as
    // they are until the frame is drawn.
    TextureKey key;
    std::uint64_t version = 1;  // of the values under that key
    const float* values = nullptr;
    Index rows = 0, cols = 0;

    ImVec2 min, max;  // what is drawn, in points
    ImVec2 origin;    // where cell (0, 0) begins
    ImVec2 cell;      // points a cell
    // The field as a row of tiles of so many columns, drawn so many points apart; 0: not tiled.
    Index tile_columns = 0;
    float tile_pitch = 0;

    const Palette* palette = nullptr;
    // The palette's places. Where values diverge and cells share a pixel, the one farthest from zero shows, else the largest.
    ValueScale scale;
    std::uint64_t quantiles = 0;  // serial of the scale's
    bool gaps = false;            // a thin line of what lies behind is left between cells
    ImU32 masked = 0, nan = 0;
};

void draw(ImDrawList* list, std::span<const Heatmap> heatmaps);

// So that the first of them need not wait for its shaders.
void prepare_heatmaps();

// Why nothing can be drawn here: the browser's own words; empty when all is well.
const std::string& heatmap_fault();

}  // namespace attn::render
