// Tells Dear ImGui what fingers do (widgets/touch.hpp), and scrolls the windows under them.
#pragma once

#include <imgui.h>

#include <optional>
#include <span>

#include "widgets/touch.hpp"

namespace attn::ui {

void fingers(std::span<const Finger> down, double ms);  // all that are down, after each change
void fingers_cancelled();
void tell_fingers(double ms);  // before ImGui's frame
void scroll_by_fingers();      // at the start of the page's frame
bool fingers_need_frames();    // while something glides, or a finger is yet to be understood

// The last item can be dragged in any direction by a finger that has rested on it.
void takes_any_drag();
// What two fingers do over the last item in this frame: notches of a wheel, and the way of the middle between them.
struct TwoFingers {
    float notches = 0;
    ImVec2 pan;
};
std::optional<TwoFingers> two_fingers();
// A finger has been lifted after moving up or down over something that did not scroll.
struct Swipe {
    ImVec2 from, to;
};
std::optional<Swipe> swiped();

}  // namespace attn::ui
