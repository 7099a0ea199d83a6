#include "widgets/vector_strip.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {
constexpr float least_component = 9, most_component = 24, cell_height = 18, strip_gap = 2;
}

StripLayout::StripLayout(Index components, float width) : size(components) {
    columns = std::clamp(static_cast<Index>(width / least_component), Index{1}, std::max(size, Index{1}));
    // The number of columns is a power of two, so that components are easy to count.
    if (columns < size) columns = Index{1} << static_cast<Index>(std::log2(static_cast<double>(columns)));
    lines = (std::max(size, Index{1}) + columns - 1) / columns;
    cell = {std::min(std::floor(width / static_cast<float>(columns)), most_component), cell_height};
}

ImVec2 StripLayout::place(Index component) const {
    return {static_cast<float>(component % columns) * cell.x,
            static_cast<float>(component / columns) * cell.y};
}

std::optional<Index> vector_strip(const std::string& name, const std::string& title, ImVec2 at,
                                  const StripLayout& layout, std::span<const float> values,
                                  const ColourScale& scale, std::optional<Index> lit) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    std::optional<Index> hovered;
    for (Index i = 0; i < layout.size; ++i) {
        const ImVec2 place = layout.place(i);
        const ImVec2 min{at.x + place.x, at.y + place.y};
        const ImVec2 max{min.x + layout.cell.x - strip_gap, min.y + layout.cell.y - strip_gap};
        list->AddRectFilled(min, max, scale.colour(values[static_cast<std::size_t>(i)]), 2);
        if (i == lit)
            list->AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, theme().accent, 2, 0, 1.5f);
        if (ImGui::IsWindowHovered() &&
            ImGui::IsMouseHoveringRect(min, {max.x + strip_gap, max.y + strip_gap}))
            hovered = i;
        landmark(name + "/" + std::to_string(i), min, max);
    }
    if (const auto asked = asked_cell(name); asked && asked->row >= 0 && asked->col >= 0)
        if (const Index i = asked->row * layout.columns + asked->col; i < layout.size) hovered = i;
    auto cells = std::make_shared<CellGrid>();
    cells->rows = layout.lines;
    cells->cols = layout.columns;
    for (Index line = 0; line < layout.lines; ++line)
        cells->row_names.push_back("from component " + std::to_string(line * layout.columns));
    for (Index column = 0; column < layout.columns; ++column)
        cells->column_names.push_back(std::to_string(column));
    cells->values.assign(values.begin(), values.end());
    cells->digits = {4};
    cells->at = at;
    cells->cell = layout.cell;
    semantic_place(Role::grid, name, title, at,
                   {at.x + static_cast<float>(layout.columns) * layout.cell.x, at.y + layout.height()})
        .grid = std::move(cells);
    return hovered;
}

}  // namespace attn::ui
