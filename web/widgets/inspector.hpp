// Draws the right-hand panel, which explains the number under the cursor, or the pinned one. Its operands and
// steps lead on to the numbers that they are.
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

// What is shown of the operands of a sum. An explanation is drawn in many frames and may have thousands of operands, so
// this is found once.
struct OperandsShown {
    std::vector<std::size_t> which;  // all of them in their order; of more than a few, the largest ones first
    double sum = 0, largest = 0;     // of all products, and the largest finite size among them
    bool negative = false;           // a product is
};
OperandsShown operands_shown(const app::Explained& why);

// Says which number stands in a place: “q of “It”, component 4”.
using PlaceTold = std::function<std::string(const app::CellPlace&)>;

// `may_go_back` offers the way back to where an operand was followed from; `draw_change` draws, under the value, what can be
// changed about it.
InspectorReply inspector(const app::Explained& why, const OperandsShown& shown, bool pinned, bool may_go_back,
                         const PlaceTold& told, const std::function<void()>& draw_change);

}  // namespace attn::ui
