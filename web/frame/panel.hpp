// Draws parts of the page.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <string_view>

#include "render/fill.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/scroll.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

inline constexpr float status_height = 28, tabs_height = 42;
inline constexpr ImVec2 sheet_inset{16, 10};  // for the sheet at the bottom of a phone's window

// Draws a tab that has no outline until it is chosen or hovered over.
bool flat_tab(const std::string& landmark, const char* name, bool on, bool faint, ImVec2 size, float align);

// Names a panel for screen readers.
inline std::string panel_name(std::string_view name) {
    return name == "rail"        ? "Lenses"
           : name == "tabs"      ? "Subjects"
           : name == "lenses"    ? "Choice of lens"
           : name == "lens"      ? "Lens"
           : name == "inspector" ? "Explanation"
           : name == "status"    ? "Status"
           : name == "lesson"    ? "Lesson"
                                 : std::string(name);
}

// Without a fill, the panel shows the page's background.
inline void panel(const char* name, ImVec2 at, ImVec2 size, std::optional<ImU32> fill, ImVec2 inset,
                  auto draw) {
    if (fill) render::fill(ImGui::GetWindowDrawList(), at, {at.x + size.x, at.y + size.y}, *fill);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, inset);
    ImGui::BeginChild(name, size, ImGuiChildFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleVar();
    {
        const ui::SemanticGroup region(ui::Role::group, std::string("panel/") + name, panel_name(name));
        draw();
    }
    ui::scroll_by_drag();
    ImGui::EndChild();
    ui::landmark_item(std::string("panel/") + name);
}

// A part that scrolls by itself. Its contents are equally wide with and without a scroll bar. Otherwise,
// content whose height depends on its width could show the bar in one frame and hide it in the next.
inline void scrolling_panel(const char* name, ImVec2 at, ImVec2 size, std::optional<ImU32> fill, ImVec2 inset,
                            auto draw) {
    ImGui::SetNextWindowContentSize({size.x - 2 * inset.x - ImGui::GetStyle().ScrollbarSize, 0});
    panel(name, at, size, fill, inset, draw);
}

}  // namespace attn::app
