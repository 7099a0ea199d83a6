// Draws sheets for all lenses: hovers, focuses and pins their cells, finds the pinned one again, and copies and saves them.
#pragma once

#include <optional>
#include <utility>

#include "app/sheet.hpp"
#include "subjects/drawing.hpp"

namespace attn::present {

using Place = std::pair<Index, Index>;  // row and column of a sheet

// Draws at the cursor, across this width at most, and advances it. Where not all columns have room, it shows those that the
// sheet wants. Returns the cell that was clicked; it is pinned by then.
std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width);

}  // namespace attn::present
