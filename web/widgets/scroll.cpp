#include "widgets/scroll.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <cmath>

namespace attn::ui {

void scroll_to(ImVec2 min, ImVec2 max) {
    ImGui::ScrollToRect(ImGui::GetCurrentWindow(), {min, max},
                        ImGuiScrollFlags_KeepVisibleEdgeX | ImGuiScrollFlags_KeepVisibleEdgeY);
}

void scroll_by_drag() {
    static ImGuiID dragged = 0;
    const ImGuiID window = ImGui::GetID("scroll");
    const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() &&
        !ImGui::IsAnyItemHovered())
        dragged = window;
    // A finger that moves up or down scrolls, whatever it started on.
    const ImVec2 way = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 8);
    const ImGuiHoveredFlags anyhow = ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
    if (finger && dragged == 0 && std::abs(way.y) > 1.5f * std::abs(way.x) &&
        ImGui::IsWindowHovered(anyhow)) {
        dragged = window;
        ImGui::ClearActiveID();
    }
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragged = 0;
    if (dragged == window) ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
}

}  // namespace attn::ui
