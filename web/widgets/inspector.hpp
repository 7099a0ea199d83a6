// Draws the right-hand panel, which explains the number under the cursor, or the pinned one. Its operands and
// steps are links to those numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "app/copied.hpp"

namespace attn::ui {

struct InspectorReply {
    std::optional<app::CellPlace> followed;  // an operand that was clicked
    bool back = false, unpinned = false;
    std::optional<app::Dialect> copied;
};

// Chooses which operands of a sum to show. An explanation is drawn in many frames and may have thousands of
// operands, so this is computed once.
struct OperandsShown {
    // All of them in order; if there are more than a few, the largest ones first.
    std::vector<std::size_t> which;
    double sum = 0, largest = 0;  // sum of all products, and the largest finite magnitude among them
    bool negative = false;        // a product is negative
};
OperandsShown operands_shown(const app::Explained& why);

// Names the number at a place: “q of “It”, component 4”.
using PlaceTold = std::function<std::string(const app::CellPlace&)>;

// `may_go_back` offers the way back to the number from which an operand was followed; `draw_change` draws,
// under the value, the controls that change it.
InspectorReply inspector(const app::Explained& why, const OperandsShown& shown, bool pinned, bool may_go_back,
                         const PlaceTold& told, const std::function<void()>& draw_change);

}  // namespace attn::ui
