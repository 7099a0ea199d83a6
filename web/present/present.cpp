#include "present/present.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "app/format.hpp"
#include "app/shown_tokens.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"

namespace attn::present {

namespace {

constexpr float least_cell = 40, a_decimal = 7.5f, least_text_cell = 55, names_width = 92;
constexpr Index fewest_columns = 4, fewest_text_columns = 2, most_columns = 24;

// The visible columns, with their numbers and names.
struct View {
    app::ShownTokens columns;
    std::vector<std::string> labels;
    app::Matrix values, before;
    std::vector<std::string> texts;

    bool is_missing(Index row, Index column) const {
        const auto at = static_cast<std::size_t>(row * values.cols + column);
        return std::isnan(values.values[at]) && (texts.empty() || texts[at].empty());
    }
    void scale_rows(int usual_decimals) {
        for (Index r = 0; r < values.rows; ++r) {
            double most = 0;
            for (Index c = 0; c < values.cols; ++c)
                if (std::isfinite(values.at(r, c))) most = std::max(most, std::abs(values.at(r, c)));
            const app::Digits digits = app::digits_for(most, usual_decimals);
            for (Index c = 0; c < values.cols; ++c) {
                double& value = values.at(r, c);
                texts.push_back(std::isnan(value) ? "" : app::with_digits(value, digits));
                if (most > 0) value /= most;
            }
        }
    }
};

View view_of(const app::Sheet& sheet, float width, app::Digits digits, Index most = most_columns) {
    constexpr int an_exponent = 4;  // characters of "e-06"
    const int more = digits.scientific ? an_exponent : std::max(digits.decimals - 2, 0);
    const float number = least_cell + a_decimal * static_cast<float>(more);
    const auto [cell, fewest] = sheet.is_coloured ? std::pair(least_text_cell, fewest_text_columns)
                                                  : std::pair(number, fewest_columns);
    const auto fitting = static_cast<Index>((width - names_width) / cell);
    View view{{sheet.columns.size(), std::min(std::clamp(fitting, fewest, most_columns), most),
               sheet.columns.size() - 1, sheet.columns.wanted},
              {},
              app::Matrix(),
              app::Matrix(),
              {}};
    if (sheet.is_whole)
        view.columns = {sheet.columns.size(), Range{0, sheet.columns.size()}};
    else if (sheet.columns.wanted.empty())
        view.columns = {sheet.columns.size(), Range{0, view.columns.size()}};
    view.labels = view.columns.labels(sheet.columns.labels);
    view.values = app::Matrix(sheet.rows.size(), view.columns.size());
    if (sheet.before) view.before = view.values;
    for (Index r = 0; r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c) {
            view.values.at(r, c) = sheet.value(r, view.columns[c]);
            if (sheet.before) view.before.at(r, c) = sheet.before(r, view.columns[c]);
            if (sheet.text)
                view.texts.push_back(sheet.text(r, view.columns[c]));
            else if (sheet.in_words)
                view.texts.push_back(sheet.in_words(view.values.at(r, c)));
        }
    if (sheet.is_scaled_by_row) view.scale_rows(sheet.decimals);
    return view;
}

// Cells of text without colours need room for the text, so fewer columns are shown.
View readable_view(const app::Sheet& sheet, float width) {
    View view = view_of(sheet, width, {sheet.decimals});
    // Small numbers have more digits, which need more room.
    if (view.texts.empty()) {
        ui::MatrixGrid grid;
        grid.values = &view.values;
        grid.decimals = sheet.decimals;
        grid.most = sheet.most;
        if (const app::Digits digits = ui::digits_of(grid); digits != app::Digits{sheet.decimals})
            view = view_of(sheet, width, digits);
    }
    const auto has_room = [&] {
        ui::MatrixGrid grid;
        grid.values = &view.values;
        grid.texts = view.texts;
        grid.row_labels = sheet.rows.labels;
        grid.row_axis = sheet.rows.name;
        return ui::grid_metrics(grid, width).numbers;
    };
    if (sheet.text && !sheet.is_coloured && !sheet.is_whole)
        while (view.columns.size() > 1 && !has_room())
            view = view_of(sheet, width, {sheet.decimals}, view.columns.size() - 1);
    return view;
}

// An axis that merely counts leaves its labels to the grid, which reads them with the axis's name.
std::span<const std::string> grid_labels(std::span<const std::string> labels) {
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels[i] != std::to_string(i)) return labels;
    return {};
}

// Returns the line below the title: which columns are missing, whose numbers these are, what they mean, and
// how many there are.
std::string notation_of(const app::Sheet& sheet, const View& view, float width) {
    std::string notation;
    if (!view.columns.are_all())
        notation = std::to_string(view.columns.size()) + " of " + std::to_string(sheet.columns.size()) +
                   " columns shown, " + Card::way_to_table(width) + " has all · ";
    for (const std::string* part : {&sheet.about, &sheet.notation})
        if (!part->empty()) notation += *part + " · ";
    return notation + std::to_string(sheet.rows.size()) + " × " + std::to_string(sheet.columns.size());
}

// Makes a table of the points of a plane: a row for each point, a column for each axis.
app::Table table_of_points(const ui::Chart& chart, const std::vector<ui::ChartCurve>& curves) {
    app::Table table{chart.title, {chart.x.full_title(), chart.y.full_title()}, {}, {}};
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

// Makes a table of curves: a row for each x that has a point, a column for each curve.
app::Table table_of_curves(const ui::Chart& chart, const std::vector<ui::ChartCurve>& curves) {
    std::map<double, std::pair<std::string, std::vector<double>>> rows;
    app::Table table{chart.title + " (" + chart.y.full_title() + ")", {}, {}, {}};
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

// Makes the chart's table. Unnamed curves are only guides, such as a limit or a vertical line, and are left
// out. Long curves are copied at evenly chosen points.
std::function<app::Table()> table_of(const ui::Chart& chart, std::span<const ui::ChartCurve> curves) {
    const bool is_plane = std::ranges::any_of(curves, &ui::ChartCurve::apart);
    std::vector<ui::ChartCurve> kept;
    for (const ui::ChartCurve& curve : curves) {
        const bool is_upright = !curve.apart && curve.x.size() > 1 && curve.x.front() == curve.x.back();
        if (curve.name.empty() || is_upright || curve.x.size() != curve.y.size() || curve.apart != is_plane)
            continue;
        const auto evenly = [](const auto& all) {
            const Index count = std::ssize(all), taken = std::min(count, app::table_row_limit);
            std::remove_cvref_t<decltype(all)> some;
            for (Index i = 0; i < taken; ++i)
                some.push_back(
                    all[static_cast<std::size_t>(taken < count ? i * (count - 1) / (taken - 1) : i)]);
            return some;
        };
        kept.push_back({.name = curve.name,
                        .x = evenly(curve.x),
                        .y = evenly(curve.y),
                        .bars = curve.bars,
                        .notes = evenly(curve.notes)});
    }
    if (kept.empty()) return {};
    // The card and the page's list share one copy.
    return [chart, is_plane, kept = std::make_shared<const std::vector<ui::ChartCurve>>(std::move(kept))] {
        return is_plane ? table_of_points(chart, *kept) : table_of_curves(chart, *kept);
    };
}

std::function<app::Table()> table_of(const Bars& bars) {
    const auto table = std::make_shared<app::Table>(
        app::Table{bars.title, {bars.value}, {}, app::Matrix(std::ssize(bars.bars), 1)});
    for (const ui::Bar& bar : bars.bars) {
        table->values.at(std::ssize(table->row_labels), 0) = static_cast<double>(bar.value);
        table->row_labels.push_back(bar.name);
    }
    return [table] { return *table; };
}

// Shows the number under the cursor in the inspector; a click pins it. Returns whether there is one.
bool point(const app::Drawing& drawing, const std::optional<app::CellRef>& cell, bool clicked) {
    if (!cell) return false;
    drawing.now.cell = *cell;
    if (clicked) pin(drawing, *cell);
    return true;
}

}  // namespace

void pin(const app::Drawing& drawing, const app::CellRef& cell) {
    drawing.visit.perform(app::Pin{cell}, ui::gesture());
}

std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width,
                           const Beside& beside, const Editing& edit,
                           const std::function<void(Index row)>& choose_row) {
    View view = readable_view(sheet, Card::width_within(width) - beside.width);
    const Card card(drawing,
                    {.key = sheet.key,
                     .title = sheet.title,
                     .notation = notation_of(sheet, view, width),
                     .table = [&sheet] { return app::table_of(sheet); },
                     .is_listed = false},
                    width);
    ui::MatrixGrid grid;
    grid.name = sheet.key;
    grid.first = {sheet.rows.first, view.columns.are_all() ? sheet.columns.first : 0};
    grid.title = sheet.title;
    grid.headed = false;
    grid.values = &view.values;
    if (sheet.before) grid.before = &view.before;
    grid.texts = view.texts;
    grid.row_labels = grid_labels(sheet.rows.labels);
    grid.column_labels = grid_labels(view.labels);
    grid.row_axis = sheet.rows.name;
    grid.column_axis = sheet.columns.name;
    grid.decimals = sheet.decimals;
    grid.in_words = sheet.in_words;
    grid.editable = edit != nullptr;
    grid.is_signed = sheet.is_signed;
    grid.coloured_texts = sheet.is_coloured || sheet.is_scaled_by_row;
    grid.most = sheet.is_scaled_by_row ? 1 : sheet.most;
    std::vector<bool> shown;
    for (Index r = 0; r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c) {
            const bool missing = view.is_missing(r, c);
            if (missing) view.values.at(r, c) = 0;
            shown.push_back(!missing && (!sheet.allowed || sheet.allowed(r, view.columns[c])));
        }
    grid.allowed = [&](Index r, Index c) {
        return shown[static_cast<std::size_t>(r * view.values.cols + c)];
    };
    grid.lit_row = sheet.lit_row;
    if (sheet.lit_column && view.columns.holds(*sheet.lit_column))
        grid.lit_column = view.columns.place(*sheet.lit_column);
    const auto cell_of = [&](ui::CellAt at) {
        return sheet.cell ? sheet.cell(at.first, view.columns[at.second]) : std::nullopt;
    };
    const auto& pinned = drawing.state().pin;
    for (Index r = 0; pinned && r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c)
            if (cell_of({r, c}) == pinned) grid.pinned = ui::CellAt{r, c};

    const float room = card.width() - beside.width;
    ui::GridMetrics metrics = ui::grid_metrics(grid, room);
    if (!metrics.numbers) {
        grid.is_tight = true;
        metrics = ui::grid_metrics(grid, room);
        grid.is_tight = metrics.numbers;
    }
    const ImVec2 at = ImGui::GetCursorScreenPos(), size = ui::grid_size(grid, metrics);
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
    if (sheet.tip && reply.hovered)
        ui::tooltip_at(reply.hovered_min, reply.hovered_max,
                       sheet.tip(reply.hovered->first, view.columns[reply.hovered->second]).c_str());
    if (reply.clicked)
        if (const auto cell = cell_of(*reply.clicked)) pin(drawing, *cell);
    if (edit) edit(reply, [&](Place place) { return ui::cell_rect(grid, metrics, at, place); });
    if (beside.draw) {
        std::vector<ImVec2> ends;
        for (Index r = 0; r < view.values.rows; ++r) {
            const auto [min, max] = ui::cell_rect(grid, metrics, at, {r, view.values.cols - 1});
            ends.emplace_back(max.x, (min.y + max.y) / 2);
        }
        beside.draw(ends);
    }
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({std::min(size.x, room), size.y});
    for (const auto& place : {reply.hovered, reply.heard})
        if (const auto cell = place ? cell_of(*place) : std::nullopt) drawing.now.cell = *cell;
    if (choose_row && reply.row_label) choose_row(*reply.row_label);
    if (!reply.clicked) return std::nullopt;
    return Place{reply.clicked->first, view.columns[reply.clicked->second]};
}

void in_columns(const std::vector<Picture>& pictures, float least) {
    const float width = ImGui::GetContentRegionAvail().x;
    const Index all = std::ssize(pictures),
                columns = std::clamp(static_cast<Index>((width + card_gap) / (least + card_gap)), Index{1},
                                     std::max(all, Index{1}));
    const auto count = static_cast<float>(columns);
    const float each = std::floor((width - card_gap * (count - 1)) / count);
    Index i = 0;
    for (const Picture& draw : pictures) {
        if (i++ % columns > 0) ImGui::SameLine(0, card_gap);
        const Room room(ImGui::GetCursorScreenPos().x + each);
        ImGui::BeginGroup();
        draw(each);
        ImGui::EndGroup();
    }
}

ui::ChartReply chart(const app::Drawing& drawing, const ui::Chart& chart, float width, float height,
                     std::span<const ui::ChartCurve> curves, const PointCell& cell) {
    const Card card(drawing, {.key = chart.name, .title = chart.title, .table = table_of(chart, curves)},
                    width);
    const ui::ChartReply reply = ui::chart(chart, card.width(), height, curves);
    if (cell && reply.over) point(drawing, cell(reply.over->curve, reply.over->point), reply.clicked);
    return reply;
}

BarReply bars(const app::Drawing& drawing, const Bars& shown, float width) {
    const Card card(drawing,
                    {.key = shown.key,
                     .title = shown.title,
                     .notation = shown.notation,
                     .table = shown.table ? shown.table : table_of(shown),
                     .is_listed = !shown.table},
                    width);
    if (shown.controls) shown.controls();
    std::vector<ui::Bar> lit = shown.bars;
    const auto& pinned = drawing.state().pin;
    for (Index i = 0; pinned && shown.cell && i < std::ssize(lit); ++i)
        if (shown.cell(i) == pinned) lit[static_cast<std::size_t>(i)].lit = true;
    BarReply reply;
    reply.over =
        ui::bar_list(shown.key, shown.title, card.width(), lit, shown.most, shown.scale, shown.most_name);
    if (reply.over && shown.tip) ui::bar_tooltip(*reply.over, shown.tip(*reply.over).c_str());
    if (reply.over && ui::clicked()) reply.clicked = reply.over;
    if (shown.cell && reply.over && point(drawing, shown.cell(*reply.over), reply.clicked.has_value()))
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    return reply;
}

}  // namespace attn::present
