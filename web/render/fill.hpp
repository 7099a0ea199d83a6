// Rectangles of one opaque colour.
#pragma once

#include <imgui.h>

namespace attn::render {

// Cleared, which costs nothing where a browser draws without a GPU: ImGui's own reads a texture at every pixel.
void fill(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour);

}  // namespace attn::render
