// What the drawing of the lens shares.
#pragma once

#include <functional>
#include <optional>

#include "app/drawing.hpp"
#include "app/state.hpp"
#include "widgets/chart.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app::memory_view {

double four_digits(double value);  // of what is dragged
// Says what is under the cursor, and pins it if it is clicked.
void answer(const Drawing& drawing, const ui::ChartReply& reply, std::optional<CellRef> cell);
// The same of a grid; cell_of(place) says which number stands there.
void draw_grid(const Drawing& drawing, ui::MatrixGrid& grid, const ui::GridMetrics& metrics, ImVec2 at,
               const std::function<std::optional<CellRef>(ui::CellAt)>& cell_of);

}  // namespace attn::app::memory_view
