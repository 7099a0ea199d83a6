#include "widgets/scroll.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <cmath>

namespace attn::ui {

void scroll_to(ImVec2 min, ImVec2 max) {
    ImGui::ScrollToRect(ImGui::GetCurrentWindow(), {min, max},
                        ImGuiScrollFlags_KeepVisibleEdgeX | ImGuiScrollFlags_KeepVisibleEdgeY);
}

float wheel_over_item(bool chosen) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool ctrl = io.KeyCtrl || io.KeySuper;  // which Dear ImGui exchanges on a Mac
    const bool two_fingers = io.MouseSource == ImGuiMouseSource_TouchScreen;
    // A page that is being scrolled goes on when something chosen comes under the cursor.
    const bool page_scrolls = ImGui::GetCurrentContext()->WheelingWindow != nullptr;
    if (!ctrl && !two_fingers && (!chosen || page_scrolls)) return 0;
    ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
    return ImGui::IsItemHovered() ? io.MouseWheel : 0;
}

float WheelTaker::notches() {
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) chosen_ = ImGui::IsItemHovered();
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) chosen_ = false;
    return wheel_over_item(chosen_);
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
