// Draws the pictures of all lenses, each in its card: hovers, focuses and pins their numbers, finds the pinned one again, and
// makes their tables.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/drawing.hpp"
#include "app/sheet.hpp"
#include "present/card.hpp"
#include "widgets/bars.hpp"
#include "widgets/chart.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::present {

// Belongs to the current gesture.
void pin(const app::Drawing& drawing, const app::CellRef& cell);

using Place = std::pair<Index, Index>;  // row and column of a sheet

// What is drawn within the card to the right of a sheet, told where its rows end.
struct Beside {
    float width = 0;
    std::function<void(std::span<const ImVec2> ends)> draw = {};
};

// Changes the numbers of a whole sheet, given what was done to its cells and where on the screen each of
// them is.
using CellRect = std::function<std::pair<ImVec2, ImVec2>(Place)>;
using Editing = std::function<void(const ui::GridReply& done, const CellRect& rect)>;

// Draws at the cursor, across this width at most, and advances it. Where not all columns have room, it shows those that the
// sheet wants. Returns the cell that was clicked; if its number has an explanation, it is pinned by then. A click on the name
// of a row calls choose_row(row).
std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width,
                           const Beside& beside = {}, const Editing& edit = {},
                           const std::function<void(Index row)>& choose_row = {});

// Draws pictures of equal widths, as many beside each other as have the least one, and the others below.
using Picture = std::function<void(float width)>;
void in_columns(const std::vector<Picture>& pictures, float least);

// Which number a point shows; none: one without an explanation.
using PointCell = std::function<std::optional<app::CellRef>(std::size_t curve, std::size_t point)>;
// The chart's name is its key. A click on a point whose number has an explanation pins it.
ui::ChartReply chart(const app::Drawing& drawing, const ui::Chart& chart, float width, float height,
                     std::span<const ui::ChartCurve> curves, const PointCell& cell = {});

struct Bars {
    std::string key, title;
    std::string notation = {};
    std::string value = {};  // what they show, for the table: "weight"
    std::vector<ui::Bar> bars = {};
    float most = 1;  // what the longest bar stands for
    ui::ColourScale scale = ui::sequential_scale(1);
    float most_name = 72;
    std::function<std::optional<app::CellRef>(Index bar)> cell = {};
    std::function<std::string(Index bar)> tip = {};  // shown under the cursor
    std::function<void()> controls = {};             // drawn between the title and the bars
    std::function<app::Table()> table =
        {};  // with more than the bars show; the lens lists it. None: of the bars
};
struct BarReply {
    std::optional<Index> over, clicked;
};
// A click on a bar whose number has an explanation pins it, and the pinned one is lit.
BarReply bars(const app::Drawing& drawing, const Bars& bars, float width);

}  // namespace attn::present
