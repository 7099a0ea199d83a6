#include "present/present.hpp"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "parts/part.hpp"
#include "parts/save_menu.hpp"
#include "subjects/shown_tokens.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::present {

namespace {

constexpr float least_cell = 40, names_width = 92, gap_below = 10, gap_before_menu = 12, title_height = 22;
constexpr Index fewest_columns = 6, most_columns = 24;
constexpr std::array<const char*, 6> menu_items{"Copy", "CSV", "SVG", "PNG 1×", "PNG 2×", "PNG 4×"};
constexpr std::array<int, 3> picture_scales{1, 2, 4};
enum Item { copy, csv, svg, picture };

std::string file_of(const app::Sheet& sheet) {
    std::string name = sheet.key;
    std::ranges::replace(name, '/', '-');
    return name;
}

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

std::string svg_of(const app::Sheet& sheet, const View& view) {
    std::vector<float> cells;
    float most = 0;
    for (Index r = 0; r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c) {
            const bool open = !sheet.allowed || sheet.allowed(r, view.columns[c]);
            cells.push_back(open ? static_cast<float>(view.values.at(r, c)) : -HUGE_VALF);
            if (std::isfinite(cells.back())) most = std::max(most, std::abs(cells.back()));
        }
    const ui::ColourScale scale = sheet.is_signed ? ui::diverging_scale(most) : ui::sequential_scale(most);
    return parts::svg_of(parts::SvgMap{
        .queries = sheet.rows.labels,
        .keys = view.labels,
        .cells = {cells.data(), view.values.rows, view.values.cols, view.values.cols},
        .colour =
            [&](float value) { return ui::rgb_of(sheet.text ? ui::theme().raised : scale.colour(value)); },
        .title = sheet.title + (sheet.about.empty() ? "" : ", " + sheet.about),
        .ink = parts::svg_ink()});
}

void act(const app::Drawing& drawing, const app::Sheet& sheet, const View& view, int item) {
    const std::string file = file_of(sheet);
    switch (item) {
        case copy: ImGui::SetClipboardText(app::table_cells(app::table_of(sheet)).c_str()); return;
        case csv: drawing.visit.save(file + ".csv", app::table_csv(app::table_of(sheet))); return;
        case svg: drawing.visit.save(file + ".svg", svg_of(sheet, view)); return;
        default: break;
    }
    drawing.visit.save_picture(file + ".png", "sheet/" + sheet.key,
                               picture_scales[static_cast<std::size_t>(item - picture)]);
}

}  // namespace

std::optional<Place> sheet(const app::Drawing& drawing, const app::Sheet& sheet, float width) {
    const View view = view_of(sheet, width);
    ui::MatrixGrid grid;
    grid.name = sheet.key;
    grid.title = sheet.title;
    grid.notation = sheet.notation.empty() && !view.columns.are_all()
                        ? std::to_string(view.columns.size()) + " of " +
                              app::many(sheet.columns.size(), sheet.columns.name)
                        : sheet.notation;
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
    const auto& pin = drawing.state().pin;
    for (Index r = 0; pin && r < view.values.rows; ++r)
        for (Index c = 0; c < view.values.cols; ++c)
            if (cell_of({r, c}) == *pin) grid.pinned = ui::CellAt{r, c};

    const ui::GridMetrics metrics = ui::grid_metrics(grid, width);
    // The menu stands beside the title, and is higher than that for fingers.
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 3}));
    const ImVec2 top = ImGui::GetCursorScreenPos(), size = ui::grid_size(grid, metrics);
    const float above = std::max(std::floor((ImGui::GetFrameHeight() - title_height) / 2), 0.0f);
    const ImVec2 at{top.x, top.y + above};
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
    ui::landmark("sheet/" + sheet.key, at, {at.x + size.x, at.y + size.y});
    const float menu_width = ui::text_size("Save").x + 2 * ImGui::GetStyle().FramePadding.x,
                beside = at.x + metrics.label_width + ui::title_width(grid) + gap_before_menu;
    ImGui::SetCursorScreenPos({std::min(beside, at.x + width - menu_width), top.y});
    const std::string called = "Copy or save “" + sheet.title + "”";
    if (const auto item = ui::menu((sheet.key + "/save").c_str(), "Save", menu_items, called.c_str()))
        act(drawing, sheet, view, *item);
    ImGui::PopStyleVar();
    ImGui::SetCursorScreenPos(top);
    ImGui::Dummy({std::min(size.x, width), above + size.y + gap_below});
    if (reply.hovered) drawing.now.cell = cell_of(*reply.hovered);
    if (reply.heard) drawing.now.cell = cell_of(*reply.heard);
    if (!reply.clicked) return std::nullopt;
    parts::pin(drawing, cell_of(*reply.clicked));
    return place_of(*reply.clicked);
}

}  // namespace attn::present
