// Draws a small matrix as coloured cells with their numbers and named axes. Cells can be hovered over,
// dragged, turned with the wheel and typed into.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/format.hpp"
#include "app/matrix.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

using CellAt = std::pair<Index, Index>;  // row, column

struct MatrixGrid {
    std::string name;  // landmark: "<name>/<row>/<col>", counted from `first`
    CellAt first{0, 0};
    std::string title;     // "Scores QKᵀ"
    bool headed = true;    // draws its title and notation; otherwise the surrounding card does
    std::string notation;  // "R[i, j] = Q[i, a] K[j, a]"
    const app::Matrix* values = nullptr;
    // Shown instead of the values, [rows · cols], if these are of several kinds. The cells have no colours
    // then, unless `coloured_texts` says so.
    std::vector<std::string> texts{};
    bool coloured_texts = false;
    const app::Matrix* before = nullptr;      // marks cells that differ from it as changed; null: marks none
    std::span<const std::string> row_labels;  // if fewer than the rows: indices
    std::span<const std::string> column_labels;  // if fewer than the columns: indices
    std::string row_axis;                        // "query", "key", "token", "component"
    std::string column_axis;
    int decimals = 2;       // usual decimals; numbers too small for these get more
    bool is_tight = false;  // writes as few digits as it can
    // Writes the ends of the colour bar where cells have texts; null: as numbers.
    std::function<std::string(double)> in_words{};
    bool editable = false;
    float most = 0;          // end of the colour scale, to share between matrices; 0: the largest value
    bool is_signed = false;  // colours are centred on zero, even while no cell is negative
    std::function<bool(Index, Index)> allowed;  // null: every cell is allowed
    std::function<bool(Index, Index)>
        misprinted;  // says whether a tutorial prints another number for the cell; null: never
    std::optional<CellAt> pinned;
    std::optional<Index> lit_row, lit_column;  // the selection, as this matrix shows it
};

struct GridReply {
    std::optional<CellAt> hovered;
    std::optional<CellAt> heard;  // the cell that has the focus of the page's accessible elements
    std::optional<CellAt> clicked;
    std::optional<CellAt> double_clicked;
    std::optional<CellAt> dragged;                 // the cell on which the mouse was pressed
    float drag = 0;                                // points moved to the right in this frame
    float wheel = 0;                               // notches over `hovered`, if it is pinned or Ctrl is held
    std::optional<Index> row_label, column_label;  // clicked
    ImVec2 hovered_min{}, hovered_max{};
};

struct GridMetrics {
    float scale = 1;  // scale of the text
    float cell_width = 54;
    float cell_height = 27;
    float label_width = 44;
    float head = 0;        // height of title and notation
    float header = 18;     // height of column names; more if they slant to fit
    bool slanted = false;  // column names are slanted
    bool numbers = true;   // cells are large enough for numbers
};

// Returns how the numbers are written in the cells and on the colour bar.
app::Digits digits_of(const MatrixGrid& grid);
// Returns the largest cells, up to the usual size, with which the matrix is at most `width` wide.
GridMetrics grid_metrics(const MatrixGrid& grid, float width);
ImVec2 grid_size(const MatrixGrid& grid, const GridMetrics& metrics);
// Includes the shape beside the title, which may extend beyond the matrix.
float title_width(const MatrixGrid& grid);
// Returns the rectangle of a cell of a grid drawn at `at`.
std::pair<ImVec2, ImVec2> cell_rect(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                    CellAt cell);

// Marks a misprinted cell in its upper right corner.
void draw_misprint(ImDrawList* list, ImVec2 corner);

GridReply draw_matrix_grid(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at);

}  // namespace attn::ui
