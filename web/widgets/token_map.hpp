// A map that is small enough to be there as a whole, with names on both axes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "widgets/heatmap.hpp"

namespace attn::ui {

struct MapCell {
    Index row, col;
    bool operator==(const MapCell&) const = default;
};

struct TokenMap {
    std::string name;  // of its landmark
    render::TextureKey key;
    const float* values;  // [rows, cols], at most 2,048 a side; −inf: masked
    std::span<const std::string> row_names, col_names;
    ColourScale scale;
    std::optional<Index> row, col;  // marked

    float value(MapCell cell) const { return values[cell.row * std::ssize(col_names) + cell.col]; }
};

struct MapTouch {
    std::optional<MapCell> over;
    bool clicked = false;
};

// Draws at the cursor, as large as the width and the height allow, and advances it.
MapTouch token_map(const TokenMap& map, float width, float most_height);

}  // namespace attn::ui
