// Draws the pictures of all lenses, each in its card: shows their numbers in the inspector, focuses and pins
// them, finds the pinned one again, and makes their tables.
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

// Draws something within the card to the right of a sheet, given where the sheet's rows end.
struct Beside {
    float width = 0;
    std::function<void(std::span<const ImVec2> ends)> draw = {};
};

// Edits the numbers of a whole sheet, given the user's actions on its cells and each cell's rectangle on the
// screen.
using CellRect = std::function<std::pair<ImVec2, ImVec2>(Place)>;
using Editing = std::function<void(const ui::GridReply& done, const CellRect& rect)>;

// Draws a sheet at the cursor, at most `width` points wide, and advances the cursor. If not all columns fit,
// it shows those that the sheet wants. Returns the clicked cell; if its number has an explanation, it is
// already pinned. A click on the name of a row calls choose_row(row).
std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width,
                           const Beside& beside = {}, const Editing& edit = {},
                           const std::function<void(Index row)>& choose_row = {});

// Draws pictures of equal widths side by side, as many as fit at the least width, and the others below.
using Picture = std::function<void(float width)>;
void in_columns(const std::vector<Picture>& pictures, float least);

// The cell that explains a point's number; none: it has no explanation.
using PointCell = std::function<std::optional<app::CellRef>(std::size_t curve, std::size_t point)>;
// The chart's name is its key. A click on a point whose number has an explanation pins it.
ui::ChartReply chart(const app::Drawing& drawing, const ui::Chart& chart, float width, float height,
                     std::span<const ui::ChartCurve> curves, const PointCell& cell = {});

struct Bars {
    std::string key, title;
    std::string notation = {};
    std::string value = {};  // the name of the values in the table: "weight"
    std::vector<ui::Bar> bars = {};
    float most = 1;  // value of the longest possible bar
    ui::ColourScale scale = ui::sequential_scale(1);
    float most_name = 72;
    std::function<std::optional<app::CellRef>(Index bar)> cell = {};
    std::function<std::string(Index bar)> tip = {};  // shown under the cursor
    std::function<void()> controls = {};             // drawn between the title and the bars
    std::function<app::Table()> table =
        {};  // may hold more than the bars show; the lens lists it. None: made from the bars
};
struct BarReply {
    std::optional<Index> over, clicked;
};
// A click on a bar whose number has an explanation pins it. The pinned bar is highlighted.
BarReply bars(const app::Drawing& drawing, const Bars& bars, float width);

}  // namespace attn::present
