// A small matrix as coloured cells with their numbers, its axes named, its cells to hover, drag, turn and type.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "app/state.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

using CellAt = std::pair<Index, Index>;  // row, column

struct MatrixGrid {
    std::string name;      // landmark: "<name>/<row>/<col>"
    std::string title;     // "Scores QKᵀ"
    std::string notation;  // "Rⁱʲ = Qⁱᵃ Kʲᵃ"
    const app::Matrix* values = nullptr;
    const app::Matrix* before = nullptr;      // cells that differ from it are marked as moved; null: none are
    std::span<const std::string> row_labels;  // fewer than rows: indices
    std::span<const std::string> column_labels;  // the same
    std::string row_axis;                        // "query", "key", "token", "component"
    std::string column_axis;
    int decimals = 2;
    bool editable = false;
    std::function<bool(Index, Index)> allowed;  // null: every cell may be looked at
    std::function<bool(Index, Index)> noted;    // has a remark: a tutorial prints another number
    std::optional<CellAt> pinned;
    std::optional<Index> lit_row, lit_column;  // the selection, seen from this matrix
};

struct GridReply {
    std::optional<CellAt> hovered;
    std::optional<CellAt> clicked;
    std::optional<CellAt> double_clicked;
    std::optional<CellAt> dragged;                 // since the mouse went down on it
    float drag = 0;                                // points moved to the right in this frame
    float wheel = 0;                               // notches over `hovered`
    std::optional<Index> row_label, column_label;  // clicked
    ImVec2 hovered_min{}, hovered_max{};
};

struct GridMetrics {
    float cell_width = 54;
    float cell_height = 27;
    float label_width = 44;
    bool numbers = true;  // cells are large enough to hold them
};

// The largest cells up to the usual size for which the matrix is at most `width` wide.
GridMetrics grid_metrics(const MatrixGrid& grid, float width);
ImVec2 grid_size(const MatrixGrid& grid, const GridMetrics& metrics);
// Where a cell will be when the grid is drawn at `at`.
std::pair<ImVec2, ImVec2> cell_rect(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                    CellAt cell);

GridReply draw_matrix_grid(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at);

}  // namespace attn::ui
