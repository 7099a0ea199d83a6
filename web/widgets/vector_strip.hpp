// Draws a vector as a line of coloured cells, one per component; long vectors continue on further lines.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "widgets/heatmap.hpp"

namespace attn::ui {

// Lays out a vector of `size` components in `width` points; vectors of the same size get the same layout.
struct StripLayout {
    Index size = 0, columns = 1, lines = 1;
    ImVec2 cell;  // including the gap after it

    StripLayout(Index size, float width);
    float height() const { return static_cast<float>(lines) * cell.y; }
    ImVec2 place(Index component) const;  // position of a component's cell, relative to the strip's corner
};

// Draws the strip at `at` and returns the component under the mouse. `lit` is outlined. Landmarks are
// "<name>/<component>".
std::optional<Index> vector_strip(const std::string& name, const std::string& title, ImVec2 at,
                                  const StripLayout& layout, std::span<const float> values,
                                  const ColourScale& scale, std::optional<Index> lit);

}  // namespace attn::ui
