// Draws the status line, and the buttons at its ends that fold the panels beside the lens.
#include <imgui.h>

#include <algorithm>

#include "app/format.hpp"
#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

// Drops the last parts of a status until the others fit.
std::string parts_within(std::string status, float room) {
    constexpr std::string_view gap = "   ", dot = " · ";
    while (ui::text_size(status).x > room) {
        const std::size_t gap_at = status.rfind(gap), dot_at = status.rfind(dot);
        if (gap_at == std::string::npos && dot_at == std::string::npos) break;
        status.resize(gap_at == std::string::npos   ? dot_at
                      : dot_at == std::string::npos ? gap_at
                                                    : std::max(gap_at, dot_at));
    }
    return status;
}

std::string kernels_in_use() {
    const int threads = thread_count();
    return std::string(default_kernels().name) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
}

}  // namespace

void Frame::draw_status(float width) {
    ui::Type mono(ui::Face::mono, 12);
    const bool hovers = !hovered_lens_.empty();
    std::string text = hovers ? hovered_lens_ : lens_in(visit_).status(subject_in(visit_));
    const bool roomy = !hovers && width > ui::reading_width;
    for (const SubjectEntry& entry : subject_list()) {
        if (hovers || entry.key == visit_.state().subject) continue;
        if (const std::int64_t kept = visit_.subject(entry.key).memory_kept(); kept >= 1'000'000)
            text += std::string("   ") + entry.name + " keeps " + fixed(static_cast<double>(kept) / 1e6, 1) +
                    " MB";
    }
    if (!visit_.last_edit().empty() && roomy) text += "   last edit: " + visit_.last_edit();
    if (roomy) text += "   " + kernels_in_use();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    // On a phone the memory figure gives way to the subject's status, and nothing is cut off in the middle.
    const bool narrow = ui::narrow_window(), beside = !narrow || ui::text_size(text).x <= width - 110;
    const float room = beside ? width - 110 : width - 14;
    ui::draw_text_within(ImGui::GetWindowDrawList(), {at.x, at.y}, room,
                         hovers ? ui::theme().text : ui::theme().dim,
                         narrow && !hovers ? parts_within(text, room) : text);
    ui::semantic_text(text, at, {at.x + width, at.y + status_height});
    if (!beside) return;
    const std::string memory = fixed(static_cast<double>(heap_bytes_) / 1e6, 1) + " MB";
    ui::draw_text(ImGui::GetWindowDrawList(), {at.x + width - 16 - ui::text_size(memory).x, at.y},
                  ui::theme().dim, memory);
}

// Draws an icon of a page with one panel marked. Returns whether it was pressed, which folds or unfolds the
// panel.
bool Frame::draw_fold(const char* panel, bool folded, bool on_the_left) {
    constexpr ImVec2 size{28, status_height - 8};
    const std::string name = std::string("fold/") + panel,
                      label = std::string(folded ? "Show the " : "Hide the ") + panel;
    const bool pressed = ImGui::InvisibleButton(name.c_str(), size, ImGuiButtonFlags_EnableNav);
    ui::landmark_item(name);
    ui::semantic_item(ui::Role::button, name, label);
    const ImVec2 at = ImGui::GetItemRectMin(), min{at.x + 6, at.y + 4}, max{at.x + 22, at.y + 16};
    const ImU32 ink = ImGui::IsItemHovered() ? ui::theme().text : ui::theme().dim;
    const float edge = on_the_left ? min.x + 5 : max.x - 5;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRect(min, max, ink, 2);
    list->AddLine({edge, min.y}, {edge, max.y}, ink);
    if (!folded)
        list->AddRectFilled({on_the_left ? min.x : edge, min.y}, {on_the_left ? edge : max.x, max.y}, ink, 2);
    ui::tooltip(label.c_str());
    return pressed;
}

// The buttons stand at the ends of the status line, where they stay whatever is folded.
void Frame::draw_wide_status(float width) {
    constexpr float button = 28, gap = 8;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    Folded to = folded_;
    if (draw_fold("lenses", folded_.lenses, true)) to.lenses = !to.lenses;
    ImGui::SetCursorScreenPos({at.x + width - button, at.y});
    if (draw_fold("explanations", folded_.explanations, false)) to.explanations = !to.explanations;
    ImGui::SetCursorScreenPos({at.x + button + gap, at.y + 3});
    draw_status(width - 2 * (button + gap) + 16);
    if (to == folded_) return;
    folded_ = to;
    visit_.page().remember("lenses", to.lenses ? "folded" : "");
    visit_.page().remember("explanations", to.explanations ? "folded" : "");
}

}  // namespace attn::app
