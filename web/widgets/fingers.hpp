// Passes finger gestures (widgets/touch.hpp) on to Dear ImGui, and scrolls the windows under the fingers.
#pragma once

#include <imgui.h>

#include <optional>
#include <span>

#include "widgets/touch.hpp"

namespace attn::ui {

void fingers(std::span<const Finger> down, double ms);  // all fingers that are down, after each change
void fingers_cancelled();
void tell_fingers(double ms);  // before ImGui's frame
void scroll_by_fingers();      // at the start of the page's frame
bool scrolls_under_finger(ImVec2 at,
                          float way);  // whether a window there can scroll that way: > 0, downwards
bool fingers_need_frames();            // while something glides, or until a finger's meaning is clear

// Lets a finger that has rested on the last item drag it in any direction.
void takes_any_drag();
// What two fingers did over the last item in this frame: notches of a wheel, and the movement of their
// midpoint.
struct TwoFingers {
    float notches = 0;
    ImVec2 pan;
};
std::optional<TwoFingers> two_fingers();
// A finger that was lifted after moving up or down over something that did not scroll.
struct Swipe {
    ImVec2 from, to;
};
std::optional<Swipe> swiped();

}  // namespace attn::ui
