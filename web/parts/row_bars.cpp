#include "parts/row_bars.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "present/present.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::parts {

namespace {

constexpr float title_height = 40, bar_pitch = 26, bar_thickness = 18;
constexpr float most_name = 96, number_room = 58;

}  // namespace

float bars_height(Index keys) { return title_height + bar_pitch * static_cast<float>(keys); }

void row_bars(const app::Drawing& drawing, const app::Ladder& ladder, Index usual, Range keys, ImVec2 origin,
              float width) {
    Index query = drawing.pointed.query.value_or(selection_of(drawing).query.value_or(usual));
    if (query >= ladder.queries()) query = usual;
    ImDrawList* list = ImGui::GetWindowDrawList();
    {
        ui::Type semibold(ui::Face::semibold, ui::size_title);
        const std::string title = "Where “" + ladder.query_name(query) + "” looks";
        ui::draw_text_within(list, origin, width, ui::theme().text, title);
        ui::semantic_text(title, origin, {origin.x + width, origin.y + title_height});
    }
    ui::Type mono(ui::Face::mono, ui::size_small);
    float names = 0;
    for (Index key = keys.begin; key < keys.end; ++key)
        names = std::max(names, ui::text_size(ladder.key_name(key)).x);
    names = std::min(names, most_name) + 8;
    const float room = width - names - number_room;
    for (Index key = keys.begin; key < keys.end; ++key) {
        const float weight = ladder.weight(query, key);
        const float y = origin.y + title_height + bar_pitch * static_cast<float>(key - keys.begin);
        ui::draw_text_within(list, {origin.x, y}, names - 8, ui::theme().dim, ladder.key_name(key));
        const float length =
            std::max(std::isfinite(weight) ? room * std::clamp(weight, 0.0f, 1.0f) : 0.0f, 1.0f);
        const ImVec2 min{origin.x + names, y - 1}, max{min.x + length, min.y + bar_thickness};
        list->AddRectFilled(min, max, ui::sequential(0.25f + 0.6f * weight), 3);
        ui::landmark("bar/" + std::to_string(key), min, {min.x + room, max.y});
        if (ImGui::IsWindowHovered() &&
            ImGui::IsMouseHoveringRect({origin.x, min.y}, {origin.x + width, max.y})) {
            drawing.now.cell = app::CellRef{Stage::weight, query, key};
            if (ui::clicked()) present::pin(drawing, *drawing.now.cell);
        }
        const std::string number = app::fixed(static_cast<double>(weight), 4);
        ui::draw_text(list, {max.x + 8, y}, ui::theme().text, number);
        ui::semantic_text(ladder.key_name(key) + " " + number, {origin.x, min.y}, {origin.x + width, max.y});
    }
}

}  // namespace attn::parts
