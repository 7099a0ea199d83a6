// The right-hand panel: why the number under the cursor, or the pinned one, is what it is.
#pragma once

#include "app/explained.hpp"

namespace attn::ui {

void inspector(const app::Explained& why, bool pinned);

}  // namespace attn::ui
