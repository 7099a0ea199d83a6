#include "widgets/free_labels.hpp"

#include "widgets/theme.hpp"

namespace attn::ui {

void FreeLabels::keep_free(ImVec2 point) {
    taken_.emplace_back(ImVec2{point.x - radius_, point.y - radius_},
                        ImVec2{point.x + radius_, point.y + radius_});
}

void FreeLabels::write(ImVec2 point, ImU32 colour, const std::string& text) {
    const ImVec2 size = text_size(text);
    ImVec2 min{point.x + radius_ + 3, point.y - size.y / 2};
    if (min.x + size.x > high_.x) min.x = point.x - radius_ - 3 - size.x;
    const ImVec2 max{min.x + size.x, min.y + size.y};
    if (min.x < low_.x || min.y < low_.y || max.y > high_.y) return;
    for (const auto& [a, b] : taken_)
        if (min.x < b.x && a.x < max.x && min.y < b.y && a.y < max.y) return;
    taken_.emplace_back(min, max);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({min.x - 1, min.y}, {max.x + 1, max.y}, with_alpha(theme().background, 0.8f), 3);
    draw_text(list, min, colour, text);
}

}  // namespace attn::ui
