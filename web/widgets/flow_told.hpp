// Describes the edges of a flow to screen readers: the strongest few, by their names.
#pragma once

#include <string>
#include <vector>

#include "widgets/flow_view.hpp"

namespace attn::ui {

// Returns the edges drawn strong in a series, which belong to the word under the cursor or to the chosen one;
// null if there is none.
const EdgeList* own_edges(const FlowPicture& picture, const FlowSeries& series);

// Returns the strongest of own_edges() or, if no word is chosen, of all edges of these queries, the strongest
// first.
std::vector<FlowTouch::Edge> told_edges(const FlowPicture& picture, Range queries);
std::string told(const FlowPicture& picture, const FlowTouch::Edge& edge);  // "It → animal, 0.98"

}  // namespace attn::ui
