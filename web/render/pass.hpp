// What the passes inside ImGui's draw lists have in common.
#pragma once

#include <imgui.h>

#include <cmath>
#include <span>

namespace attn::render {

// The frame that is being drawn, in pixels, and its points as pixels of it.
struct FramePixels {
    float scale, width, height;
    ImVec2 origin;  // points

    static FramePixels of(const ImDrawData& data) {
        const float scale = data.FramebufferScale.x;
        return {scale, std::floor(data.DisplaySize.x * scale), std::floor(data.DisplaySize.y * scale),
                data.DisplayPos};
    }
    ImVec2 operator()(float x, float y) const { return {(x - origin.x) * scale, (y - origin.y) * scale}; }
};

// Each is kept, byte by byte, until `run` draws it.
template <class Item>
void add_pass(ImDrawList* list, ImDrawCallback run, std::span<const Item> items) {
    for (const Item& item : items) {
        Item copy = item;
        list->AddCallback(run, &copy, sizeof copy);
    }
    list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

}  // namespace attn::render
