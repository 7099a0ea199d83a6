#include "present/present.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/format.hpp"
#include "app/shown_tokens.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::present {

namespace {

constexpr float least_cell = 40, names_width = 92;
constexpr Index fewest_columns = 6, most_columns = 24;

// The columns in view, with their numbers and names.
struct View {
    app::ShownTokens columns;
    std::vector<std::string> labels;
    app::Matrix values;
    std::vector<std::string> texts;
};

View view_of(const app::Sheet& sheet, float width) {
    const auto fitting = static_cast<Index>((width - names_width) / least_cell);
    View view{{sheet.columns.size(), std::clamp(fitting, fewest_columns, most_columns),
               sheet.columns.size() - 1, sheet.columns.wanted},
              {},
              app::Matrix(),
              {}};
    if (sheet.columns.wanted.empty()) view.columns = {sheet.columns.size(), Range{0, view.columns.size()}};
    view.labels = view.columns.labels(sheet.columns.labels);
    view.values = app::Matrix(sheet.rows.size(), view.columns.size());
    for (Index r = 0; r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c) {
            view.values.at(r, c) = sheet.value(r, view.columns[c]);
            if (sheet.text) view.texts.push_back(sheet.text(r, view.columns[c]));
        }
    return view;
}

// What stands below the title: whose numbers these are, what they mean, and how many.
std::string notation_of(const app::Sheet& sheet, const View& view) {
    std::string notation;
    for (const std::string* part : {&sheet.about, &sheet.notation})
        if (!part->empty()) notation += *part + " · ";
    return notation + std::to_string(sheet.rows.size()) + " × " + std::to_string(sheet.columns.size()) +
           (view.columns.are_all() ? "" : ", " + std::to_string(view.columns.size()) + " of them shown");
}

// The points of a plane are the rows of a table, its axes the columns.
app::Table table_of_points(const ui::Chart& chart, const std::vector<ui::ChartCurve>& curves) {
    app::Table table{chart.title, {chart.x.title, chart.y.title}, {}, {}};
    std::vector<double> numbers;
    for (const ui::ChartCurve& curve : curves)
        for (std::size_t i = 0; i < curve.x.size() && std::ssize(table.row_labels) < app::table_row_limit;
             ++i) {
            table.row_labels.push_back(curve.name + " " +
                                       (curve.notes.empty() ? std::to_string(i) : curve.notes[i]));
            numbers.insert(numbers.end(), {curve.x[i], curve.y[i]});
        }
    table.values = app::Matrix(std::ssize(table.row_labels), 2);
    for (Index r = 0; r < table.values.rows; ++r)
        for (Index c = 0; c < 2; ++c) table.values.at(r, c) = numbers[static_cast<std::size_t>(2 * r + c)];
    return table;
}

// Each place of the x axis that has a point is a row of a table, and each curve a column.
app::Table table_of_curves(const ui::Chart& chart, const std::vector<ui::ChartCurve>& curves) {
    std::map<double, std::pair<std::string, std::vector<double>>> rows;
    app::Table table{chart.title + " (" + chart.y.title + ")", {}, {}, {}};
    for (std::size_t c = 0; c < curves.size(); ++c) {
        const ui::ChartCurve& curve = curves[c];
        table.columns.push_back(curve.name);
        for (std::size_t i = 0; i < curve.x.size(); ++i) {
            auto& [note, values] = rows[curve.x[i]];
            values.resize(curves.size(), NAN);
            values[c] = curve.y[i];
            if (curve.bars && !curve.notes.empty()) note = " " + curve.notes[i];
        }
    }
    table.values = app::Matrix(std::min(std::ssize(rows), app::table_row_limit), std::ssize(curves));
    Index r = 0;
    for (const auto& [x, row] : rows) {
        if (r == table.values.rows) break;
        const auto& [note, values] = row;
        const std::string at = app::shortest(static_cast<float>(x)) + note;
        table.row_labels.push_back(r == 0 && note.empty() ? chart.x.title + " " + at : at);
        for (Index c = 0; c < table.values.cols; ++c)
            table.values.at(r, c) = values[static_cast<std::size_t>(c)];
        ++r;
    }
    return table;
}

// Curves without a name are lines drawn for the eye, such as a limit. An upright one marks a place. Of the others it takes
// copies, as many points as a table has.
std::function<app::Table()> table_of(const ui::Chart& chart, std::span<const ui::ChartCurve> curves) {
    const bool is_plane = std::ranges::any_of(curves, &ui::ChartCurve::apart);
    std::vector<ui::ChartCurve> kept;
    for (const ui::ChartCurve& curve : curves) {
        if (curve.name.empty() || curve.x.size() != curve.y.size() || curve.apart != is_plane) continue;
        const auto beginning = [](const auto& all) {
            return std::remove_cvref_t<decltype(all)>(
                all.begin(), all.begin() + std::min(std::ssize(all), app::table_row_limit));
        };
        kept.push_back({.name = curve.name,
                        .x = beginning(curve.x),
                        .y = beginning(curve.y),
                        .bars = curve.bars,
                        .notes = beginning(curve.notes)});
    }
    if (kept.empty()) return {};
    return [chart, is_plane, kept = std::move(kept)] {
        return is_plane ? table_of_points(chart, kept) : table_of_curves(chart, kept);
    };
}

app::Table table_of(const Bars& bars) {
    app::Table table{bars.title, {bars.value}, {}, app::Matrix(std::ssize(bars.bars), 1)};
    for (const ui::Bar& bar : bars.bars) {
        table.values.at(std::ssize(table.row_labels), 0) = static_cast<double>(bar.value);
        table.row_labels.push_back(bar.name);
    }
    return table;
}

}  // namespace

void pin(const app::Drawing& drawing, const app::CellRef& cell) {
    drawing.visit.perform(app::Pin{cell}, ui::gesture());
}

std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width) {
    const View view = view_of(sheet, Card::width_within(width));
    const Card card(drawing,
                    {.key = sheet.key,
                     .title = sheet.title,
                     .notation = notation_of(sheet, view),
                     .table = [&sheet] { return app::table_of(sheet); },
                     .is_listed = false},
                    width);
    ui::MatrixGrid grid;
    grid.name = sheet.key;
    grid.title = sheet.title;
    grid.headed = false;
    grid.values = &view.values;
    grid.texts = view.texts;
    grid.row_labels = sheet.rows.labels;
    grid.column_labels = view.labels;
    grid.row_axis = sheet.rows.name;
    grid.column_axis = sheet.columns.name;
    grid.is_signed = sheet.is_signed;
    if (sheet.allowed) grid.allowed = [&](Index r, Index c) { return sheet.allowed(r, view.columns[c]); };
    grid.lit_row = sheet.lit_row;
    if (sheet.lit_column && view.columns.holds(*sheet.lit_column))
        grid.lit_column = view.columns.place(*sheet.lit_column);
    const auto place_of = [&](ui::CellAt at) { return Place{at.first, view.columns[at.second]}; };
    const auto cell_of = [&](ui::CellAt at) { return sheet.cell(at.first, view.columns[at.second]); };
    const auto& pinned = drawing.state().pin;
    for (Index r = 0; pinned && r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c)
            if (cell_of({r, c}) == *pinned) grid.pinned = ui::CellAt{r, c};

    const ui::GridMetrics metrics = ui::grid_metrics(grid, card.width());
    const ImVec2 at = ImGui::GetCursorScreenPos(), size = ui::grid_size(grid, metrics);
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({std::min(size.x, card.width()), size.y});
    if (reply.hovered) drawing.now.cell = cell_of(*reply.hovered);
    if (reply.heard) drawing.now.cell = cell_of(*reply.heard);
    if (!reply.clicked) return std::nullopt;
    pin(drawing, cell_of(*reply.clicked));
    return place_of(*reply.clicked);
}

ui::ChartReply chart(const app::Drawing& drawing, const ui::Chart& chart, float width, float height,
                     std::span<const ui::ChartCurve> curves, const PointCell& cell) {
    const Card card(drawing, {.key = chart.name, .title = chart.title, .table = table_of(chart, curves)},
                    width);
    const ui::ChartReply reply = ui::chart(chart, card.width(), height, curves);
    const auto shown = cell && reply.over ? cell(reply.over->curve, reply.over->point) : std::nullopt;
    if (!shown) return reply;
    drawing.now.cell = *shown;
    if (reply.clicked) pin(drawing, *shown);
    return reply;
}

BarReply bars(const app::Drawing& drawing, const Bars& shown, float width) {
    const Card card(drawing,
                    {.key = shown.key,
                     .title = shown.title,
                     .notation = shown.notation,
                     .table = [shown] { return table_of(shown); }},
                    width);
    BarReply reply;
    reply.over = ui::bar_list(shown.key, shown.title, card.width(), shown.bars, shown.most, shown.scale,
                              shown.most_name);
    if (reply.over && ui::clicked()) reply.clicked = reply.over;
    const auto cell = shown.cell && reply.over ? shown.cell(*reply.over) : std::nullopt;
    if (!cell) return reply;
    drawing.now.cell = *cell;
    if (reply.clicked) pin(drawing, *cell);
    return reply;
}

}  // namespace attn::present
