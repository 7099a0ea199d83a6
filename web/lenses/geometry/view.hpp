// What the pictures of the lens share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lenses/geometry/geometry.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app {

inline constexpr float widest_matrix = 520, least_column = 330;
inline constexpr ImVec2 matrix_gap{26, 22};

std::vector<std::string> labels_of(std::span<const std::string> names, Range range);

// Where a cell of a matrix stands, by its own row and column.
using CellOf = std::function<CellRef(Index row, Index col)>;
inline CellOf lens_cell(GeometryNumber number) {
    return [number](Index row, Index col) { return cell_of(number, row, col); };
}
// Draws a matrix, shows what is pinned in it, and answers the mouse and the keyboard.
void draw_matrix(const Drawing& drawing, ui::Lines& lines, ui::MatrixGrid& grid, const CellOf& cell);

}  // namespace attn::app
