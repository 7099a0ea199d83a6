// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>

#include "app/drawing.hpp"
#include "app/state.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::heads_view {

inline constexpr float gap_below = 10;

// Draws the grid at the cursor, across this width at most; a click pins its cell, and is answered. `drawn`, if given,
// gets its sizes.
std::optional<ui::CellAt> draw_grid(ui::MatrixGrid& grid, float width,
                                    const std::function<CellRef(ui::CellAt)>& cell_of, const Drawing& drawing,
                                    ui::GridMetrics* drawn = nullptr);
// The one under the cursor is explained, and pinned by a click.
void answer(const Drawing& drawing, const CellRef& cell);

}  // namespace attn::app::heads_view
