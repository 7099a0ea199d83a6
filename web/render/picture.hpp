// What a frame is drawn from, so that a frame like the one before need not be drawn again.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <vector>

namespace attn::render {

class Picture {
  public:
    // Keeps this frame's; true where it is not, to the last byte, the one kept before. Heatmaps are told apart by the keys
    // of their textures, which stand for their contents.
    bool changed(const ImDrawData& data, ImVec4 background);
    void forget() { bytes_.clear(); }

  private:
    std::vector<std::byte> bytes_, before_;
};

}  // namespace attn::render
