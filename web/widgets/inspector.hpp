// Draws the right-hand panel, which explains the number under the cursor, or the pinned one.
#pragma once

#include "app/explained.hpp"

namespace attn::ui {

void inspector(const app::Explained& why, bool pinned);

}  // namespace attn::ui
