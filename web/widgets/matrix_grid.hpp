// Draws a small matrix as coloured cells with their numbers and named axes. Cells can be hovered over,
// dragged, turned with the wheel and typed into.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/matrix.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

using CellAt = std::pair<Index, Index>;  // row, column

struct MatrixGrid {
    std::string name;  // landmark: "<name>/<row>/<col>", counted from `first`
    CellAt first{0, 0};
    std::string title;     // "Scores QKᵀ"
    bool headed = true;    // draws its title and notation; otherwise what is around it does
    std::string notation;  // "R[i, j] = Q[i, a] K[j, a]"
    const app::Matrix* values = nullptr;
    // Written instead of the values, [rows · cols], where these are of several kinds; they have no colours then, unless
    // they are of one kind after all.
    std::vector<std::string> texts{};
    bool coloured_texts = false;
    const app::Matrix* before = nullptr;         // cells that differ are marked as changed; null: none are
    std::span<const std::string> row_labels;     // fewer than rows: indices
    std::span<const std::string> column_labels;  // fewer than columns: indices
    std::string row_axis;                        // "query", "key", "token", "component"
    std::string column_axis;
    int decimals = 2;
    bool editable = false;
    float most = 0;  // that colours reach to, so that several matrices have the same; 0: the largest value
    bool is_signed = false;  // coloured about zero, whether a cell is negative at the moment or not
    std::function<bool(Index, Index)> allowed;  // null: every cell is allowed
    std::function<bool(Index, Index)>
        misprinted;  // a tutorial prints another number for the cell; null: none
    std::optional<CellAt> pinned;
    std::optional<Index> lit_row, lit_column;  // the selection, as this matrix shows it
};

struct GridReply {
    std::optional<CellAt> hovered;
    std::optional<CellAt> heard;  // has the focus of the page's own elements
    std::optional<CellAt> clicked;
    std::optional<CellAt> double_clicked;
    std::optional<CellAt> dragged;                 // since the mouse was pressed on it
    float drag = 0;                                // points moved to the right in this frame
    float wheel = 0;                               // notches over `hovered`, if it is pinned or Ctrl is held
    std::optional<Index> row_label, column_label;  // clicked
    ImVec2 hovered_min{}, hovered_max{};
};

struct GridMetrics {
    float scale = 1;  // of the text
    float cell_width = 54;
    float cell_height = 27;
    float label_width = 44;
    float head = 0;        // of title and notation
    float header = 18;     // of column names; more where they are slanted to have room
    bool slanted = false;  // column names
    bool numbers = true;   // whether cells are large enough for them
};

// Returns the largest cells, up to the usual size, with which the matrix is at most `width` wide.
GridMetrics grid_metrics(const MatrixGrid& grid, float width);
ImVec2 grid_size(const MatrixGrid& grid, const GridMetrics& metrics);
float title_width(const MatrixGrid& grid);  // with the shape beside it, which may extend beyond the size
// Returns where a cell will be when the grid is drawn at `at`.
std::pair<ImVec2, ImVec2> cell_rect(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                    CellAt cell);

// Draws the mark of a misprinted cell into its upper right corner.
void draw_misprint(ImDrawList* list, ImVec2 corner);

GridReply draw_matrix_grid(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at);

}  // namespace attn::ui
