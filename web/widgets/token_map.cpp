#include "widgets/token_map.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/landmarks.hpp"

namespace attn::ui {

namespace {

constexpr float most_cell = 44, number_cell = 30, gap_cell = 7, axis_height = 18;

void draw_numbers(const TokenMap& map, ImVec2 at, float cell) {
    if (cell < number_cell) return;
    Type mono(Face::mono, 12);
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (Index r = 0; r < std::ssize(map.row_names); ++r)
        for (Index c = 0; c < std::ssize(map.col_names); ++c) {
            const float value = map.value({r, c});
            if (std::isinf(value)) continue;
            const std::string text = app::rounded(static_cast<double>(value), 2);
            const ImVec2 size = text_size(text);
            if (size.x > cell - 2) continue;
            draw_text(list,
                      {at.x + static_cast<float>(c) * cell + (cell - size.x) / 2,
                       at.y + static_cast<float>(r) * cell + (cell - size.y) / 2},
                      ink_on(map.scale.colour(value)), text);
        }
}

}  // namespace

MapTouch token_map(const TokenMap& map, float width, float most_height) {
    const Index rows = std::ssize(map.row_names), cols = std::ssize(map.col_names);
    AxisLabels row_labels, col_labels;
    row_labels.names = map.row_names;
    row_labels.shown = {0, rows};
    row_labels.most = std::min(96.0f, width * 0.25f);
    row_labels.strong = map.row;
    col_labels.names = map.col_names;
    col_labels.shown = {0, cols};
    col_labels.most = 96;
    col_labels.lit = map.col;
    const float left = std::max(row_labels_width(row_labels), 24.0f);
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    const auto cell_for = [&](float room, Index count) {
        const float fit = std::min(room / static_cast<float>(count), most_cell);
        return fit >= 3 ? std::floor(fit * density) / density : fit;
    };
    const float wide = cell_for(width - left, cols);
    col_labels.cell = wide;
    const float top = column_labels_height(col_labels);
    const float cell = std::min(wide, cell_for(std::max(most_height - top - axis_height, 120.0f), rows));
    row_labels.cell = col_labels.cell = cell;

    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 at{std::floor(corner.x + left), std::floor(corner.y + top)};
    const ImVec2 size{cell * static_cast<float>(cols), cell * static_cast<float>(rows)};
    const ImVec2 end{at.x + size.x, at.y + size.y};
    ImDrawList* list = ImGui::GetWindowDrawList();

    render::Heatmap heatmap;
    heatmap.key = map.key;
    heatmap.values = map.values;
    heatmap.rows = rows;
    heatmap.cols = cols;
    heatmap.min = heatmap.origin = at;
    heatmap.max = end;
    heatmap.cell = {cell, cell};
    heatmap.gaps = cell >= gap_cell;
    use_scale(heatmap, map.scale);
    render::draw(list, {&heatmap, 1});
    draw_numbers(map, at, cell);

    row_labels.first = at.y;
    col_labels.first = at.x;
    draw_row_labels(list, row_labels, at.x);
    draw_column_labels(list, col_labels, at.y);
    {
        Type small(Face::regular, size_small);
        draw_text(list, {corner.x, end.y + 3}, theme().dim, "query ↓");
        const float key_width = text_size("key →").x;
        draw_text(list, {std::max(end.x - key_width, corner.x + text_size("query ↓").x + 10), end.y + 3},
                  theme().dim, "key →");
    }
    const auto outline = [&](Index r, Index r_end, Index c, Index c_end, ImU32 colour, float thick) {
        list->AddRect({at.x + static_cast<float>(c) * cell - 1, at.y + static_cast<float>(r) * cell - 1},
                      {at.x + static_cast<float>(c_end) * cell, at.y + static_cast<float>(r_end) * cell},
                      colour, cell >= gap_cell ? 3.0f : 0, 0, thick);
    };
    if (map.col) outline(0, rows, *map.col, *map.col + 1, with_alpha(theme().dim, 0.8f), 1);
    if (map.row) outline(*map.row, *map.row + 1, 0, cols, theme().accent, 2);

    MapTouch touch;
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(map.name.c_str());
    ImGui::InvisibleButton("map", size);
    landmark_item(map.name);
    if (ImGui::IsItemHovered()) {
        const ImVec2 mouse = ImGui::GetMousePos();
        const auto place = [&](float distance, Index count) {
            return std::clamp(static_cast<Index>(distance / cell), Index{0}, count - 1);
        };
        touch.over = MapCell{place(mouse.y - at.y, rows), place(mouse.x - at.x, cols)};
        touch.clicked = ImGui::IsItemDeactivated();
        outline(touch.over->row, touch.over->row + 1, touch.over->col, touch.over->col + 1, theme().text, 2);
    }
    ImGui::PopID();
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({std::max(left + size.x, 1.0f), top + size.y + axis_height});
    return touch;
}

}  // namespace attn::ui
