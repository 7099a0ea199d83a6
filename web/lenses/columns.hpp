// Two columns of a lens beside each other, where there is room for them.
#pragma once

#include <imgui.h>

namespace attn::lenses {

inline constexpr float two_columns_from = 680, column_gap = 32;  // points

// draw(width) at the cursor, as high as what it draws.
void column(const char* name, float width, auto&& draw) {
    ImGui::BeginChild(name, {width, 0}, ImGuiChildFlags_AutoResizeY,
                      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    draw(ImGui::GetContentRegionAvail().x);
    ImGui::EndChild();
}

}  // namespace attn::lenses
