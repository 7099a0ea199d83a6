// The numbers of the tile that was done last, for some of its queries.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "app/format.hpp"
#include "lenses/tiles/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app {

namespace {

constexpr Index most_components = 64;
constexpr ImVec2 gap{22, 14};

// A matrix whose rows are the shown queries.
struct Cells {
    const char* name;
    std::string title, notation;
    std::vector<std::string> columns;
    const char* column_axis;
    std::function<CellRef(Index query, Index column)> cell;
    std::function<float(Index query, Index column)> value;
    int decimals = 3;
    bool is_signed = false;
    Index first_column = 0;
    std::function<bool(Index query, Index column)> allowed = {};
    double unit = 1;  // what a 1 in the matrix stands for
};

void draw_cells(const TilesLens::View& view, ui::Lines& lines, const Cells& cells) {
    const Range rows = view.shown.rows;
    Matrix values(rows.size(), std::ssize(cells.columns));
    for (Index r = 0; r < values.rows; ++r)
        for (Index c = 0; c < values.cols; ++c)
            values.at(r, c) = static_cast<double>(cells.value(rows.begin + r, c)) / cells.unit;
    const std::span names =
        std::span(view.query_names())
            .subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.size()));
    ui::MatrixGrid grid{.name = cells.name,
                        .first = {rows.begin, cells.first_column},
                        .title = cells.title,
                        .notation = cells.notation,
                        .values = &values,
                        .row_labels = names,
                        .column_labels = cells.columns,
                        .row_axis = "query",
                        .column_axis = cells.column_axis,
                        .decimals = cells.decimals,
                        .is_signed = cells.is_signed,
                        .allowed = {},
                        .misprinted = {},
                        .pinned = {},
                        .lit_row = {},
                        .lit_column = {}};
    if (cells.allowed) grid.allowed = [&](Index r, Index c) { return cells.allowed(rows.begin + r, c); };
    const auto& pin = view.drawing.state().pin;
    for (Index r = 0; pin && r < values.rows; ++r)
        for (Index c = 0; c < values.cols; ++c)
            if (cells.cell(rows.begin + r, c) == *pin) grid.pinned = ui::CellAt{r, c};
    const auto lit = view.drawing.pointed.query ? view.drawing.pointed.query : selection_of(view.drawing).query;
    if (lit && *lit >= rows.begin && *lit < rows.end) grid.lit_row = *lit - rows.begin;
    const ui::GridMetrics metrics = ui::grid_metrics(grid, lines.width());
    ImVec2 size = ui::grid_size(grid, metrics);
    size.x = std::max(size.x, metrics.label_width + ui::title_width(grid));
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, lines.place(size));
    if (reply.hovered) {
        view.drawing.now.cell = cells.cell(rows.begin + reply.hovered->first, reply.hovered->second);
        view.drawing.point(rows.begin + reply.hovered->first, std::nullopt);
    }
    if (reply.clicked)
        present::pin(view.drawing, cells.cell(rows.begin + reply.clicked->first, reply.clicked->second));
    if (reply.row_label) parts::choose_tokens(view.drawing, rows.begin + *reply.row_label, std::nullopt);
}

// The power of ten of the largest difference, where these are too small to be written out; else 0.
int exponent_of(double largest) {
    if (!std::isfinite(largest) || largest == 0 || largest >= 0.01) return 0;
    return static_cast<int>(std::floor(std::log10(largest)));
}

// Writes 10⁻⁸.
std::string power_of_ten(int exponent) {
    static constexpr std::array digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char digit : std::to_string(std::abs(exponent)))
        text += digits[static_cast<std::size_t>(digit - '0')];
    return text;
}

}  // namespace

// Which of the tile's queries are shown, where these are too many.
void TilesLens::draw_rows(const View& view) const {
    const auto& [record, head, grid, tile, queries, rows, keys] = view.shown;
    if (queries.size() <= tile_rows_shown) return;
    const Index before = rows.begin - tile_rows_shown, after = rows.end;
    const std::string shown = std::to_string(rows.begin) + "–" + std::to_string(rows.end - 1);
    ImGui::BeginGroup();
    if (const auto first =
            ui::stepper("tiles/rows", "queries shown", shown,
                        {before, before < queries.begin ? "These are the tile’s first queries." : ""},
                        {after, after >= queries.end ? "These are the tile’s last queries." : ""}))
        parts::choose_tokens(view.drawing, *first, std::nullopt);
    ImGui::EndGroup();
}

void TilesLens::draw_numbers(const View& view, float width) {
    const Shown& now = view.shown;
    const Record& record = *now.record;
    draw_rows(view);
    if (!walk_->done()) return ui::caption("Computing these queries …");
    const OnlineWalk& walked = *walk_;
    const auto step = [&](Index query) -> const RowStep<float>& { return walked.row(query).step(now.col()); };
    const auto before = [&](Index query) -> const RunningRow<float>& {
        return walked.row(query).before(now.col());
    };
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    const auto allowed = [&](Index query, Index column) {
        return record.spec().mask.allows(now.head, query, now.keys.begin + column);
    };
    const std::vector<std::string> keys(view.key_names().begin() + now.keys.begin,
                                        view.key_names().begin() + now.keys.end);
    ui::Lines lines(width, gap);
    const Stage scores = score_stage(record.spec());
    draw_cells(view, lines,
               {.name = "tiles/scores",
                .title = "Scores  S",
                .notation = "of this tile",
                .columns = keys,
                .column_axis = "key",
                .cell = [&](Index q, Index c) { return CellRef{scores, q, now.keys.begin + c}; },
                .value = [&](Index q, Index c) { return step(q).scores[at(c)]; },
                .decimals = 2,
                .is_signed = true,
                .first_column = now.keys.begin,
                .allowed = allowed});
    draw_cells(view, lines,
               {.name = "tiles/weights",
                .title = "Weights  P",
                .notation = "P = exp(S − m), not yet divided",
                .columns = keys,
                .column_axis = "key",
                .cell = [](Index q, Index c) { return tiles_cells::weight(q, c); },
                .value = [&](Index q, Index c) { return step(q).weights[at(c)]; },
                .first_column = now.keys.begin,
                .allowed = allowed});
    lines.next_line();
    draw_cells(view, lines,
               {.name = "tiles/max",
                .title = "Maximum  m",
                .notation = "max(m before, max S)",
                .columns = {"before", "now"},
                .column_axis = "tile",
                .cell =
                    [](Index q, Index c) {
                        return tiles_cells::running(c ? RunningNumber::max : RunningNumber::max_before, q);
                    },
                .value = [&](Index q, Index c) { return c ? step(q).after.max : before(q).max; },
                .is_signed = true});
    draw_cells(view, lines,
               {.name = "tiles/factor",
                .title = "Factor  f",
                .notation = "exp(m before − m)",
                .columns = {"now"},
                .column_axis = "tile",
                .cell = [](Index q, Index) { return tiles_cells::running(RunningNumber::factor, q); },
                .value = [&](Index q, Index) { return step(q).factor; }});
    constexpr std::array sums{RunningNumber::sum_before, RunningNumber::weight_sum, RunningNumber::sum};
    draw_cells(view, lines,
               {.name = "tiles/sum",
                .title = "Sum  l",
                .notation = "f · l before + Σ P",
                .columns = {"before", "Σ P", "now"},
                .column_axis = "tile",
                .cell = [&](Index q, Index c) { return tiles_cells::running(sums[at(c)], q); },
                .value =
                    [&](Index q, Index c) {
                        return c == 0 ? before(q).sum : c == 1 ? step(q).weight_sum : step(q).after.sum;
                    }});
    lines.next_line();
    const Index shown = std::min(record.d_v(), most_components);
    if (shown == 0) {
        lines.finish();
        return ui::caption("There are no values here, so there is no output.");
    }
    std::vector<std::string> components;
    for (Index b = 0; b < shown; ++b) components.push_back(std::to_string(b));
    std::vector<std::vector<float>> results;
    for (Index query = now.rows.begin; query < now.rows.end; ++query)
        results.push_back(walked.row(query).result(now.col()));
    const auto result = [&](Index q, Index b) { return results[at(q - now.rows.begin)][at(b)]; };
    const auto difference = [&](Index q, Index b) { return result(q, b) - naive(now, q).output[at(b)]; };
    double largest = 0;
    bool finite = true;
    for (Index query = now.rows.begin; query < now.rows.end; ++query)
        for (Index b = 0; b < record.d_v(); ++b) {
            const double off = std::abs(static_cast<double>(difference(query, b)));
            finite = finite && std::isfinite(off);
            largest = std::fmax(largest, std::isinf(off) ? 0 : off);
        }
    const int exponent = exponent_of(largest);
    const auto outputs = [&](const char* name, const char* title, std::string notation, TileOutput of,
                             std::function<float(Index, Index)> value, double of_unit = 1) {
        draw_cells(view, lines,
                   {.name = name,
                    .title = title,
                    .notation = std::move(notation),
                    .columns = components,
                    .column_axis = "component",
                    .cell = [of](Index q, Index b) { return tiles_cells::output(of, q, b); },
                    .value = std::move(value),
                    .decimals = of_unit == 1 ? 3 : 1,
                    .is_signed = true,
                    .unit = of_unit});
    };
    outputs("tiles/output", "Output  O", "f · O before + P V", TileOutput::after,
            [&](Index q, Index b) { return step(q).after.output[at(b)]; });
    outputs("tiles/result", "O / l", now.ends_row() ? "all keys seen: the attention output" : "so far",
            TileOutput::result, result);
    outputs("tiles/naive", "Naive", "softmax(whole row) V", TileOutput::naive,
            [&](Index q, Index b) { return naive(now, q).output[at(b)]; });
    outputs("tiles/difference", "Difference",
            exponent == 0 ? "O / l − naive" : "O / l − naive, in " + power_of_ten(exponent),
            TileOutput::difference, difference, std::pow(10.0, exponent));
    lines.finish();
    if (shown < record.d_v())
        ui::caption(
            ("The first " + std::to_string(shown) + " of " + std::to_string(record.d_v()) + " components.")
                .c_str());
    if (now.ends_row()) {
        const std::string text =
            std::string(finite ? "All keys seen. These outputs, "
                               : "All keys seen. Those outputs that are finite, ") +
            "by tiles and in the naive order, differ by " +
            (largest == 0 ? "nothing." : fixed(largest, 2) + " at most, which is rounding.");
        ui::caption(text.c_str());
        ui::landmark_item("tiles/equal");
    }
}

}  // namespace attn::app
