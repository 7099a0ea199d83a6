// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/drawing.hpp"
#include "app/state.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::layers_view {

inline constexpr float gap_below = 10;
inline constexpr float names_width = 100;  // of a grid's rows, at most

std::string shortened(const std::string& token);  // as much of it as fits into a cell

// Draws the grid at the cursor, across this width at most; a click pins its cell, and is answered.
std::optional<ui::CellAt> draw_grid(ui::MatrixGrid& grid, float width,
                                    const std::function<std::optional<CellRef>(ui::CellAt)>& cell_of,
                                    const Drawing& drawing);

}  // namespace attn::app::layers_view
