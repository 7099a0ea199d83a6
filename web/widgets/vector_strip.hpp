// A vector as a line of coloured cells, one a component; long vectors go on in further lines.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "widgets/heatmap.hpp"

namespace attn::ui {

// How a vector of `size` components lies in `width` points; vectors of one size lie alike.
struct StripLayout {
    Index size = 0, columns = 1, lines = 1;
    ImVec2 cell;  // with the gap after it

    StripLayout(Index size, float width);
    float height() const { return static_cast<float>(lines) * cell.y; }
    ImVec2 place(Index component) const;  // of a component's cell, from the strip's corner
};

// Draws it at `at`; the component under the mouse. `lit` is outlined. Landmarks "<name>/<component>".
std::optional<Index> vector_strip(const std::string& name, ImVec2 at, const StripLayout& layout,
                                  std::span<const float> values, const ColourScale& scale,
                                  std::optional<Index> lit);

}  // namespace attn::ui
