// Keeps the pressed item under the pointer: if content above it grows or shrinks, its panel scrolls by the
// same amount.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>

namespace attn::app {

class Steady {
  public:
    void keep();  // inside the panel, after its content

  private:
    struct Pressed {
        std::string key;  // key of its node
        float at = 0;     // points below the top of the content
        ImVec2 pointer;
    };
    float follow();  // returns the panel's new scroll position

    std::optional<Pressed> pressed_;
    float room_ = 0;  // below the content
};

}  // namespace attn::app
