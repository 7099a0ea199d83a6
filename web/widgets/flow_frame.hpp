// Says where the words and edges of a flow are on the screen in one frame.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "widgets/flow_view.hpp"

namespace attn::ui {

inline constexpr float edge_reach = 5;  // hover distance from an edge, in points

struct FlowView::Frame {
    FlowShape shape;
    ImVec2 query_origin, key_origin;  // screen position of place 0
    float zoom = 1;
    float chips_top = 0;           // used by arcs
    ImVec2 min, max;               // the visible part
    Range queries, keys;           // in view
    std::optional<Beyond> beyond;  // the look, if it is out of view

    float scale() const { return std::max(zoom, readable_scale); }  // words are drawn at it
    bool columns() const { return shape.form == FlowForm::columns; }
    ImVec2 point(float query, float key, float t) const {
        const FlowPoint p = shape.at(query * zoom, key * zoom, t);
        return {query_origin.x + p.x, query_origin.y + p.y};
    }
};

}  // namespace attn::ui
