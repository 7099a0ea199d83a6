// Scrolls a panel, either when the mouse drags its empty background or to bring something into view, and decides what
// the wheel does: it scrolls the page, unless the thing under it was chosen or Ctrl is held. Fingers scroll in
// widgets/fingers.
#pragma once

#include <imgui.h>

#include <optional>

namespace attn::ui {

void scroll_by_drag();  // for the current window; call after drawing its contents

// Scrolls the enclosing windows until this rectangle is in view, as far as it fits.
void scroll_to(ImVec2 min, ImVec2 max);

// Returns the notches that the wheel was turned over the last item, if that is what the item takes: when it was
// chosen, when Ctrl is held, and from two fingers on a touch screen. Otherwise it returns 0.
float wheel_over_item(bool chosen);

// Such an item, chosen as long as it was pressed last, until Escape.
class WheelTaker {
  public:
    float notches();  // call once per frame, after drawing the item

  private:
    bool chosen_ = false;
};

// On a phone, the inspector opens over what was tapped, so this keeps a newly pinned cell in view while the
// layout is still moving.
template <class Cell>
class FollowedPin {
  public:
    // Call once per frame; says whether to scroll to the pin.
    bool follows(const std::optional<Cell>& pin) {
        if (pin != kept_) frames_ = 4;
        kept_ = pin;
        // What is being dragged stays where it is.
        if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) return false;
        return frames_ > 0 && frames_-- > 0;
    }

  private:
    std::optional<Cell> kept_;
    int frames_ = 0;  // frames in which the layout may still move
};

}  // namespace attn::ui
