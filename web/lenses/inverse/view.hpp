// What the drawing of the lens shares.
#pragma once

#include <array>
#include <string>

#include "lenses/inverse/inverse.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app {

// A grid of the lens in its place.
struct InverseLens::Placed {
    ui::GridMetrics metrics;
    ImVec2 at;
    ui::GridReply reply;
};

// Places the grid, draws it, and shows and pins what it is asked to; cell(place) says what stands there.
template <class Cell>
InverseLens::Placed InverseLens::draw_grid(const Drawing& drawing, ui::MatrixGrid& grid, ui::Lines& lines,
                                           Cell cell) {
    constexpr float most_width = 460;
    const auto& pin = drawing.state().pin;
    for (Index r = 0; pin && r < grid.values->rows; ++r)
        for (Index c = 0; c < grid.values->cols; ++c)
            if (*pin == cell(ui::CellAt{r, c})) grid.pinned = ui::CellAt{r, c};
    Placed placed;
    placed.metrics = ui::grid_metrics(grid, std::min(lines.width(), most_width));
    const ImVec2 size = ui::grid_size(grid, placed.metrics);
    placed.at = lines.place({std::max(size.x, ui::title_width(grid) + placed.metrics.label_width), size.y});
    placed.reply = ui::draw_matrix_grid(grid, placed.metrics, placed.at);
    if (placed.reply.hovered) drawing.now.cell = cell(*placed.reply.hovered);
    if (placed.reply.heard) drawing.now.cell = cell(*placed.reply.heard);
    if (placed.reply.clicked) present::pin(drawing, cell(*placed.reply.clicked));
    return placed;
}

}  // namespace attn::app
