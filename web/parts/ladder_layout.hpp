// Places the matrices of a ladder and the bars of one row of weights. In a large window the cells grow; in
// one that is too small for them, the rows of the ladder share lines, and the cells shrink a little, so that
// the output stays in view.
#pragma once

#include <vector>

#include "subjects/ladder.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::parts {

struct RungGrid {
    const app::Rung* rung;
    ui::MatrixGrid grid;
    ui::GridMetrics metrics;  // metrics of cells at their usual size
};

struct PlacedRung {
    const RungGrid* of;
    ui::GridMetrics metrics;
    ImVec2 at{};     // points from the ladder's upper left corner
    float sign = 0;  // x of the sign before it
};

struct LadderLayout {
    std::vector<PlacedRung> rungs;
    float matrices_height = 0;
    float height = 0;  // includes the bars
    ImVec2 bars{};     // points from the ladder's upper left corner
    float bars_width = 0;
    bool wraps = false;  // a row of the ladder takes more than one line
};

// The layout points into `rows`; `room` is the visible area.
LadderLayout ladder_layout(const std::vector<std::vector<RungGrid>>& rows, Index keys, ImVec2 room);

// Returns the distance, in points, from the left edge or the previous matrix to the next matrix.
float sign_width(const app::Rung& rung);

}  // namespace attn::parts
