#include "render/fill.hpp"

#include <GLES3/gl3.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "render/pass.hpp"

namespace attn::render {

namespace {

struct Fill {
    ImVec2 min, max;
    ImU32 colour;
};

void clear_rectangle(const ImDrawList*, const ImDrawCmd* command) {
    Fill f;
    std::memcpy(&f, command->UserCallbackData, sizeof f);
    const FramePixels pixels = FramePixels::of(*ImGui::GetDrawData());
    const ImVec2 min = pixels(f.min.x, f.min.y), max = pixels(f.max.x, f.max.y);
    const auto left = static_cast<GLint>(std::lround(min.x)), right = static_cast<GLint>(std::lround(max.x));
    const auto bottom = static_cast<GLint>(std::lround(pixels.height - max.y)),
               top = static_cast<GLint>(std::lround(pixels.height - min.y));
    const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(f.colour);
    glScissor(left, bottom, std::max(right - left, 0), std::max(top - bottom, 0));
    glClearColor(colour.x, colour.y, colour.z, colour.w);
    glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

// The next command of the list sets its own scissor rectangle.
void fill(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour) {
    Fill f{min, max, colour};
    list->AddCallback(clear_rectangle, &f, sizeof f);
}

}  // namespace attn::render
