// Draws the right-hand panel, which explains the number under the cursor, or the pinned one. Its operands and
// steps lead on to the numbers that they are.
#pragma once

#include <optional>

#include "app/copied.hpp"

namespace attn::ui {

struct InspectorReply {
    std::optional<app::CellPlace> followed;  // an operand that was clicked
    bool back = false;
    std::optional<app::Dialect> copied;
};

// `may_go_back` offers the way back to where an operand was followed from.
InspectorReply inspector(const app::Explained& why, bool pinned, bool may_go_back);

}  // namespace attn::ui
