// Places words on a picture of points where no other word and no point is.
#pragma once

#include <imgui.h>

#include <string>
#include <utility>
#include <vector>

namespace attn::ui {

class FreeLabels {
  public:
    // The picture's corners, and the radius of its points.
    FreeLabels(ImVec2 low, ImVec2 high, float radius) : low_(low), high_(high), radius_(radius) {}

    void keep_free(ImVec2 point);
    // Writes to the right of a point, or to the left if there is no room, unless something is there already.
    void write(ImVec2 point, ImU32 colour, const std::string& text);

  private:
    ImVec2 low_, high_;
    float radius_;
    std::vector<std::pair<ImVec2, ImVec2>> taken_;
};

}  // namespace attn::ui
