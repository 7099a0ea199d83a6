#include "widgets/matrix_told.hpp"

#include <algorithm>
#include <limits>

namespace attn::ui {

namespace {

// Returns the part of many rows or columns, around the place, that screen readers get: elements for all of
// them would slow the page down.
Range heard_part(Index size, Index place) {
    constexpr Index most = 16;
    const Index first = std::clamp(place, Index{0}, std::max<Index>(size - 1, 0)) / most * most;
    return {first, std::min(first + most, size)};
}

}  // namespace

std::shared_ptr<const CellGrid> told_cells(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                           std::optional<CellAt> focus) {
    auto cells = std::make_shared<CellGrid>();
    const app::Matrix& m = *grid.values;
    const auto [row, column] = focus ? *focus : grid.pinned.value_or(CellAt{0, 0});
    const Range rows = heard_part(m.rows, row), columns = heard_part(m.cols, column);
    cells->first_row = grid.first.first + rows.begin;
    cells->first_col = grid.first.second + columns.begin;
    cells->rows = grid.first.first + m.rows;
    cells->cols = grid.first.second + m.cols;
    // A mere index also needs the name of its axis.
    const auto heard = [](std::span<const std::string> labels, const std::string& axis, Index i) {
        return i < std::ssize(labels) ? label_of(labels, i) : axis + " " + std::to_string(i);
    };
    for (Index c = columns.begin; c < columns.end; ++c)
        cells->column_names.push_back(heard(grid.column_labels, grid.column_axis, c));
    for (Index r = rows.begin; r < rows.end; ++r) {
        cells->row_names.push_back(heard(grid.row_labels, grid.row_axis, r));
        for (Index c = columns.begin; c < columns.end; ++c) {
            if (!grid.texts.empty())
                cells->words.push_back(grid.texts[static_cast<std::size_t>(r * m.cols + c)]);
            const bool hidden = grid.allowed && !grid.allowed(r, c);
            cells->values.push_back(hidden ? -std::numeric_limits<double>::infinity() : m.at(r, c));
        }
    }
    cells->digits = digits_of(grid);
    cells->at = cell_rect(grid, metrics, at, {rows.begin, columns.begin}).first;
    cells->cell = {metrics.cell_width, metrics.cell_height};
    if (grid.pinned)
        cells->chosen =
            std::pair(grid.pinned->first + grid.first.first, grid.pinned->second + grid.first.second);
    cells->editable = grid.editable;
    return cells;
}

}  // namespace attn::ui
