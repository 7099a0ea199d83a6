// Supports the sheet at the bottom of a phone's window, which explains the pinned cell.
#pragma once

#include <imgui.h>

#include "subjects/ladder.hpp"

namespace attn::app {

// Notices when a finger closes the sheet, by a swipe down or a tap outside.
class BottomSheet {
  public:
    // Call once per frame after the rest of the page. A swipe over a scrolled explanation scrolls it back to
    // its top first. `on_cell` says whether the finger is on a cell outside the sheet.
    bool closed_by_finger(ImVec2 min, ImVec2 max, bool on_cell);

  private:
    bool may_leave_ = false;  // depends on where the finger went down
};

// Draws the effect of a changed input in two lines: where the query attends, and its output.
void draw_effect(const Ladder& ladder, Index query, float width);

}  // namespace attn::app
