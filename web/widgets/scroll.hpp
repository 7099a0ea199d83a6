// Scrolls a panel when the mouse drags its empty background, or to bring something into view, and decides
// what the wheel does: it scrolls the page, unless the item under it was chosen or Ctrl is held. Fingers
// scroll in widgets/fingers.
#pragma once

#include <imgui.h>

#include <optional>

namespace attn::ui {

void scroll_by_drag();  // for the current window; call after drawing its contents

// Scrolls the enclosing windows until this rectangle is in view, as far as it fits.
void scroll_to(ImVec2 min, ImVec2 max);

// Returns the notches of the wheel over the last item if the item takes them: it was chosen, Ctrl is held, or
// two fingers move on a touch screen. Otherwise returns 0.
float wheel_over_item(bool chosen);

// An item that takes the wheel: it is chosen from the last press on it until Escape or another press.
class WheelTaker {
  public:
    float notches();  // call once per frame, after drawing the item

  private:
    bool chosen_ = false;
};

// On a phone, the inspector opens over the tapped cell, so this keeps a newly pinned cell in view while the
// layout is still moving.
template <class Cell>
class FollowedPin {
  public:
    // Call once per frame; says whether to scroll to the pin.
    bool follows(const std::optional<Cell>& pin) {
        if (pin != kept_) frames_ = 4;
        kept_ = pin;
        // A dragged cell stays where it is.
        if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) return false;
        return frames_ > 0 && frames_-- > 0;
    }

  private:
    std::optional<Cell> kept_;
    int frames_ = 0;  // frames in which the layout may still move
};

}  // namespace attn::ui
