// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/drawing.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::cache_view {

// Draws the grid of these values at the cursor, across this width at most; NaN where there is none. A click pins its cell,
// and is answered.
std::optional<ui::CellAt> draw_grid(ui::MatrixGrid& grid, const Matrix& values, float width,
                                    const std::function<CellRef(ui::CellAt)>& cell_of,
                                    const Drawing& drawing);
std::string short_name(std::span<const std::string> names, Index i);

}  // namespace attn::app::cache_view
