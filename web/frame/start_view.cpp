#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "frame/panel.hpp"
#include "frame/start.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

namespace {

constexpr float count_size = 12, above_buttons = 2;
constexpr std::size_t step_count = 3;

float height_of(const std::string& text) {
    return ui::text_size(ui::wrapped(text, ImGui::GetContentRegionAvail().x)).y;
}

void draw_title(std::size_t number, const StartStep& step) {
    {
        const ui::Type small(ui::Face::semibold, count_size);
        ui::text_item("NEW TO ATTENTION?   " + std::to_string(number + 1) + " OF " +
                      std::to_string(step_count));
    }
    ui::section(step.title.c_str());
}

// Detects the second press of a double click, which is meant as a single step.
bool pressed_again() {
    return ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
           ImGui::GetIO().MouseClickedLastCount[ImGuiMouseButton_Left] > 1;
}

}  // namespace

const Start::Steps& Start::steps(const Visit& visit, const Selection& selection) {
    const Attention* attention = subject_in(visit).attention();
    const std::uint64_t version = attention ? attention->version() : 0;
    if (steps_.kept() && !*steps_.kept()) steps_.forget();  // there may be some now
    return steps_.of({version, selection}, [&] { return start_steps(visit, selection); });
}

std::optional<StartStep> Start::step(const Visit& visit, const Selection& selection) {
    if (!open_) return std::nullopt;
    const Steps& all = steps(visit, selection);
    return all ? std::optional((*all)[step_]) : std::nullopt;
}

float Start::panel_height(const StartStep& step, float width) {
    const float gap = ImGui::GetStyle().ItemSpacing.y,
                inside = width - 2 * sheet_inset.x - ImGui::GetStyle().ScrollbarSize;
    float height = 2 * sheet_inset.y + ImGui::GetFrameHeight() + above_buttons + 4 * gap;
    {
        const ui::Type small(ui::Face::semibold, count_size);
        height += ImGui::GetTextLineHeight();
    }
    {
        const ui::Type title(ui::Face::semibold, ui::size_title);
        height += ImGui::GetTextLineHeight();
    }
    return std::ceil(height + ui::text_size(ui::wrapped(step.text, inside)).y);
}

bool Start::draw_card(const Visit& visit, const Selection& selection) {
    if (!open_) return false;
    const Steps& steps = this->steps(visit, selection);
    if (!steps) return false;
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui::theme().accent_soft);
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 8);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {14, 12});
    ImGui::BeginChild("start", {0, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    draw_title(step_, (*steps)[step_]);
    // The buttons stay in place from step to step.
    float height = 0;
    for (const StartStep& each : *steps) height = std::max(height, height_of(each.text));
    const float top = ImGui::GetCursorPosY();
    ui::wrapped_text((*steps)[step_].text, FLT_MAX, ui::Role::status);
    ImGui::SetCursorPosY(std::max(ImGui::GetCursorPosY(), top + height + ImGui::GetStyle().ItemSpacing.y));
    ImGui::Dummy({0, above_buttons});
    const bool closed = draw_buttons();
    ImGui::EndChild();
    ui::landmark_item("start");
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
    ImGui::Dummy({0, 8});
    return closed;
}

bool Start::draw_panel(const StartStep& step) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_title(step_, step);
    ui::wrapped_text(step.text, FLT_MAX, ui::Role::status);
    ImGui::Dummy({0, above_buttons});
    const bool closed = draw_buttons();
    ui::landmark("start", at, ImGui::GetItemRectMax());
    return closed;
}

bool Start::draw_buttons() {
    const bool last = step_ + 1 == step_count, again = pressed_again();
    const std::size_t now = step_;
    bool closed = false;
    if (ui::button("start/back", "Back", now > 0) && !again) --step_;
    ImGui::SameLine(0, 6);
    if (ui::button("start/next", "Next", !last) && !again) ++step_;
    ImGui::SameLine(0, 6);
    if (ui::button("start/close", last ? "Done" : "Close") && !again) closed = true;
    if (closed) open_ = false;
    return closed;
}

}  // namespace attn::app
