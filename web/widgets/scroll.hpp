// Scrolling a panel: by dragging its empty ground, as fingers do, and to what is to be seen.
#pragma once

#include <imgui.h>

#include <optional>

namespace attn::ui {

void scroll_by_drag();  // for the current window, after its contents

// Scrolls the windows around what is drawn there until it is in view, as far as it fits.
void scroll_to(ImVec2 min, ImVec2 max);

// On a phone the inspector comes up over what was tapped: a newly pinned cell is kept in view while the layout still moves.
template <class Cell>
class FollowedPin {
  public:
    // Once a frame: whether it is to be scrolled to.
    bool follows(const std::optional<Cell>& pin) {
        if (pin != kept_) frames_ = 4;
        kept_ = pin;
        return frames_ > 0 && frames_-- > 0;
    }

  private:
    std::optional<Cell> kept_;
    int frames_ = 0;  // that the layout still moves
};

}  // namespace attn::ui
