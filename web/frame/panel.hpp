// Draws a part of the page that scrolls by itself.
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

inline constexpr float status_height = 28;

// As those hear it who do not see it.
inline std::string panel_name(std::string_view name) {
    return name == "rail"        ? "Lenses"
           : name == "tabs"      ? "Subjects"
           : name == "lenses"    ? "Choice of lens"
           : name == "lens"      ? "Lens"
           : name == "inspector" ? "Explanation"
           : name == "status"    ? "Status"
                                 : std::string(name);
}

// Without a fill, the panel shows the page's own background.
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

}  // namespace attn::app
