// Scrolling a panel by dragging its empty ground, as fingers do.
#pragma once

namespace attn::ui {

void scroll_by_drag();  // for the current window, after its contents

}  // namespace attn::ui
