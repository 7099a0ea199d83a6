#include "widgets/scroll.hpp"

#include <imgui.h>

namespace attn::ui {

void scroll_by_drag() {
    static ImGuiID dragged = 0;
    const ImGuiID window = ImGui::GetID("scroll");
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() && !ImGui::IsAnyItemHovered())
        dragged = window;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left) && dragged == window) dragged = 0;
    if (dragged == window) ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
}

}  // namespace attn::ui
