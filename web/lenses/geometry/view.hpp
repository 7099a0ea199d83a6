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

// Where a cell of a matrix stands, by its own row and column.
using CellOf = std::function<CellRef(Index row, Index col)>;
inline CellOf lens_cell(const CellKind& kind) {
    return [&kind](Index row, Index col) { return kind(row, col); };
}
// The same by its places among the tokens that are shown.
CellOf of_tokens(const ShownTokens& rows, const CellOf& cell);
CellOf of_tokens(const ShownTokens& rows, const ShownTokens& cols, const CellOf& cell);
// Draws a matrix, shows what is pinned in it, and answers the mouse and the keyboard.
void draw_matrix(const Drawing& drawing, ui::Lines& lines, ui::MatrixGrid& grid, const CellOf& cell);

}  // namespace attn::app
