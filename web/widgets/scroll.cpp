#include "widgets/scroll.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include "widgets/fingers.hpp"

namespace attn::ui {

void scroll_to(ImVec2 min, ImVec2 max) {
    ImGui::ScrollToRect(ImGui::GetCurrentWindow(), {min, max},
                        ImGuiScrollFlags_KeepVisibleEdgeX | ImGuiScrollFlags_KeepVisibleEdgeY);
}

float wheel_over_item(bool chosen) {
    const ImGuiIO& io = ImGui::GetIO();
    if (const auto fingers = two_fingers()) return fingers->notches;
    const bool ctrl = io.KeyCtrl || io.KeySuper;  // Dear ImGui swaps these two on a Mac
    // A page that is scrolling continues when something chosen comes under the cursor.
    const bool page_scrolls = ImGui::GetCurrentContext()->WheelingWindow != nullptr;
    if (!ctrl && (!chosen || page_scrolls)) return 0;
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
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() &&
        !ImGui::IsAnyItemHovered() && ImGui::GetIO().MouseSource != ImGuiMouseSource_TouchScreen)
        dragged = window;
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragged = 0;
    if (dragged == window) ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
}

}  // namespace attn::ui
