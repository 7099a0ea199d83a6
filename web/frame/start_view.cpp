#include <imgui.h>

#include <algorithm>

#include "frame/start.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

namespace {

float height_of(const std::string& text) {
    return ui::text_size(ui::wrapped(text, ImGui::GetContentRegionAvail().x)).y;
}

// The second press of a double click. Who means one step does not want two.
bool pressed_again() {
    return ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
           ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left] > 1;
}

}  // namespace

bool Start::draw(const Visit& visit, const Selection& selection) {
    if (!open_) return false;
    const auto steps = start_steps(visit, selection);
    if (!steps) return false;
    const ui::Theme& t = ui::theme();
    const StartStep& step = (*steps)[step_];
    bool closed = false;
    ImGui::PushStyleColor(ImGuiCol_ChildBg, t.accent_soft);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 8);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {14, 12});
    ImGui::BeginChild("start", {0, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    {
        ui::Type small(ui::Face::semibold, 12);
        ui::text_item("NEW TO ATTENTION?   " + std::to_string(step_ + 1) + " OF 3");
    }
    ui::section(step.title.c_str());
    // The buttons stay where they are from step to step.
    float height = 0;
    for (const StartStep& each : *steps) height = std::max(height, height_of(each.text));
    const float top = ImGui::GetCursorPosY();
    ui::wrapped_text(step.text, FLT_MAX, ui::Role::status);
    ImGui::SetCursorPosY(std::max(ImGui::GetCursorPosY(), top + height + ImGui::GetStyle().ItemSpacing.y));
    ImGui::Dummy({0, 2});
    const bool last = step_ + 1 == steps->size(), again = pressed_again();
    const std::size_t now = step_;
    if (ui::button("start/back", "Back", now > 0) && !again) --step_;
    ImGui::SameLine(0, 6);
    if (ui::button("start/next", "Next", !last) && !again) ++step_;
    ImGui::SameLine(0, 6);
    if (ui::button("start/close", last ? "Done" : "Close") && !again) closed = true;
    ImGui::EndChild();
    ui::landmark_item("start");
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    ImGui::Dummy({0, 8});
    if (closed) open_ = false;
    return closed;
}

}  // namespace attn::app
