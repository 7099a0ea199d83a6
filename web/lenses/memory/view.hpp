// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>

#include "app/state.hpp"
#include "subjects/drawing.hpp"
#include "widgets/chart.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::memory_view {

double four_digits(double value);  // of what is dragged
CellRef own_cell(Index row, Index col);
// Says what is under the cursor, and pins it if it is clicked.
void answer(const Drawing& drawing, const ui::ChartReply& reply, std::optional<CellRef> cell);
void draw_grid(const Drawing& drawing, const ui::MatrixGrid& grid, const ui::GridMetrics& metrics, ImVec2 at,
               const std::function<std::optional<CellRef>(ui::CellAt)>& cell_of);

}  // namespace attn::app::memory_view
