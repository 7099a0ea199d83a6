// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/drawing.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::knockout_view {

inline constexpr float gap_below = 10;

// Draws the grid of these values at the cursor, across this width at most; NaN where there is none. A click pins its cell,
// and is answered.
std::optional<ui::CellAt> draw_grid(ui::MatrixGrid& grid, const Matrix& values, float width,
                                    const std::function<CellRef(ui::CellAt)>& cell_of,
                                    const Drawing& drawing);
// The name of a column, as much of it as fits, and of several.
std::string short_name(std::span<const std::string> names, Index i);
std::vector<std::string> column_names(std::span<const std::string> names, Range shown);

}  // namespace attn::app::knockout_view
