// Says what colours mean, on lines that break.
#pragma once

#include <imgui.h>

#include <string>

#include "widgets/layout.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

class Swatches {
  public:
    explicit Swatches(float width) : width_(width), lines_(width, {16, 4}) {}
    void add(ImU32 colour, const std::string& text, const std::string& landmark_name);
    void finish() { lines_.finish(); }

  private:
    Type small_{Face::regular, size_small};
    float width_;
    Lines lines_;
};

}  // namespace attn::ui
