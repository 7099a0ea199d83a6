// Says where the words and edges of a flow are on the screen in one frame.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "widgets/flow_view.hpp"

namespace attn::ui {

inline constexpr float edge_reach = 5;              // hover distance from an edge, in points
inline constexpr float name_pad = 8, chip_pad = 6;  // beside and within the names of columns

// Returns the centre of a word such that neither end of the word is cut off by an end of the line.
inline float inside(float middle, float size, float length) {
    return std::clamp(middle, size / 2, std::max(length - size / 2, size / 2));
}
// Returns the keys of the look, which belongs to the chosen query alone.
inline Range looked_at(const FlowPicture& picture) {
    return picture.look && picture.chosen_query && picture.query == picture.chosen_query ? picture.look->keys
                                                                                         : Range{};
}

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
