// Scrolls a panel, either when its empty background is dragged, as with fingers, or to bring something into
// view.
#pragma once

#include <imgui.h>

#include <optional>

namespace attn::ui {

void scroll_by_drag();  // for the current window; call after drawing its contents

// Scrolls the enclosing windows until this rectangle is in view, as far as it fits.
void scroll_to(ImVec2 min, ImVec2 max);

// On a phone, the inspector opens over what was tapped, so this keeps a newly pinned cell in view while the
// layout is still moving.
template <class Cell>
class FollowedPin {
  public:
    // Call once per frame; says whether to scroll to the pin.
    bool follows(const std::optional<Cell>& pin) {
        if (pin != kept_) frames_ = 4;
        kept_ = pin;
        return frames_ > 0 && frames_-- > 0;
    }

  private:
    std::optional<Cell> kept_;
    int frames_ = 0;  // frames in which the layout may still move
};

}  // namespace attn::ui
