// The curve that an edge of a flow is drawn as: one formula for the picture, for what is pointed at, and for
// files. Points, downwards; shaders/flow.vert says the same.
#pragma once

namespace attn {

// Arcs over one line of words, or curves between two columns of them: queries left, keys right.
enum class FlowForm { arcs, columns };

inline constexpr int edge_segments = 24;

struct FlowPoint {
    float x = 0, y = 0;
};

// Arcs rise above a line at y = 0, from (query, 0) to (key, 0); one to the word itself is a loop. In columns
// curves go from (0, query) to (width, key).
struct FlowShape {
    FlowForm form = FlowForm::arcs;
    float rise = 68;  // the height of the widest arcs
    float loop = 5;   // half the width of a loop
    float width = 0;  // between the columns

    float height(float span) const;  // the height of an arc whose ends are so far apart
    bool is_loop(float query, float key) const { return form == FlowForm::arcs && query == key; }
    FlowPoint at(float query, float key, float t) const;  // t 0 … 1: from the query to the key
    // The distance from a point to the curve that is drawn in edge_segments straight pieces; far away where
    // the point lies beside it.
    float distance(float query, float key, FlowPoint point) const;
};

// How thick an edge is drawn.
constexpr float edge_width(float weight, bool is_loop) { return is_loop ? 1.25f + weight : 1 + 4 * weight; }
// How strong, 0 … 1; `most` is the weight drawn strongest.
constexpr float edge_strength(float weight, float most) { return 0.12f + 0.88f * weight / most; }

}  // namespace attn
