// Provides an off-screen target to draw into, whose pixels can be read.
#pragma once

#include <cstdint>
#include <vector>

namespace attn::render {

inline constexpr int target_side = 2048;  // pixels per side, at most

// While a target exists, all drawing goes into it.
class Target {
  public:
    Target(int width, int height);
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    std::vector<std::uint8_t> read() const;  // [height, width, RGBA], top row first

  private:
    int width_, height_;
    unsigned texture_ = 0, buffer_ = 0;
};

}  // namespace attn::render
