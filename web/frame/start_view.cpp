#include <imgui.h>

#include "frame/start.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

bool Start::draw(const Attention* attention, const Selection& selection) {
    if (!open_ || !attention) return false;
    const auto steps = start_steps(*attention, selection);
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
    ui::wrapped_text(step.text, FLT_MAX, ui::Role::status);
    ImGui::Dummy({0, 2});
    if (step_ > 0) {
        if (ui::button("start/back", "Back")) --step_;
        ImGui::SameLine(0, 6);
    }
    const bool last = step_ + 1 == steps->size();
    if (!last) {
        if (ui::button("start/next", "Next")) ++step_;
        ImGui::SameLine(0, 6);
    }
    if (ui::button("start/close", last ? "Done" : "Close")) closed = true;
    ImGui::EndChild();
    ui::landmark_item("start");
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    ImGui::Dummy({0, 8});
    if (closed) open_ = false;
    return closed;
}

}  // namespace attn::app
