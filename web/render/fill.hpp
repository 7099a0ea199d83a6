// Fills rectangles with one opaque colour.
#pragma once

#include <imgui.h>

namespace attn::render {

// Clears the rectangle, which costs almost nothing if a browser draws without a GPU; ImGui's own rectangles
// read a texture for every pixel.
void fill(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour);

}  // namespace attn::render
