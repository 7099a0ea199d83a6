// Scrolling a panel: by dragging its empty ground, as fingers do, and to what is to be seen.
#pragma once

#include <imgui.h>

namespace attn::ui {

void scroll_by_drag();  // for the current window, after its contents

// Scrolls the windows around what is drawn there until it is in view, as far as it fits.
void scroll_to(ImVec2 min, ImVec2 max);

}  // namespace attn::ui
