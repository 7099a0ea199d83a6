#include "widgets/swatches.hpp"

#include <algorithm>

#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

void Swatches::add(ImU32 colour, const std::string& text, const std::string& landmark_name) {
    constexpr float line_height = 20;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float wide = std::min(text_size(text).x, width_ - 16);
    const ImVec2 at = lines_.place({wide + 16, line_height}), end{at.x + 16 + wide, at.y + line_height};
    list->AddRectFilled({at.x, at.y + 4}, {at.x + 11, at.y + 15}, colour, 2);
    list->AddRect({at.x, at.y + 4}, {at.x + 11, at.y + 15}, theme().border, 2);
    draw_text_within(list, {at.x + 16, at.y + 1}, wide, theme().text, text);
    landmark(landmark_name, at, end);
    semantic_text(text, at, end);
}

}  // namespace attn::ui
