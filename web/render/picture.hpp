// Remembers what a frame was drawn from, so that an identical frame need not be drawn again.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <vector>

namespace attn::render {

class Picture {
  public:
    // Keeps this frame's data; returns true if it differs in any byte from what was kept before. Heatmaps are
    // compared by the keys of their textures, which stand for their contents.
    bool changed(const ImDrawData& data, ImVec4 background);
    void forget() { bytes_.clear(); }

  private:
    std::vector<std::byte> bytes_, before_;
};

}  // namespace attn::render
