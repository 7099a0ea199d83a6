// A place to draw into beside the screen, whose pixels can be read.
#pragma once

#include <cstdint>
#include <vector>

namespace attn::render {

inline constexpr int target_side = 2048;  // pixels a side, at most

// While it lives, all drawing goes into it.
class Target {
  public:
    Target(int width, int height);
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    std::vector<std::uint8_t> read() const;  // [height, width, RGBA], from the top

  private:
    int width_, height_;
    unsigned texture_ = 0, buffer_ = 0;
};

}  // namespace attn::render
