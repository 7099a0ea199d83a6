#version 300 es
// Draws each edge of a flow as a strip along its curve, as web/app/flow_shape.cpp computes it. Edges beyond the
// requested share of their row collapse to nothing, and so do those that are too faint to be seen.
precision highp float;
precision highp int;
precision highp sampler2D;

layout(location = 0) in uvec2 ends;   // query, key
layout(location = 1) in vec2 shares;  // weight; share of the row's heavier edges

uniform sampler2D query_places, key_places;  // one channel; places fill the texture row by row
uniform vec2 query_origin, key_origin;       // where place 0 is, in pixels, downwards
uniform float unit;                          // pixels per unit of places
uniform float point;                         // pixels per point
uniform bool columns;
uniform float rise;   // of the widest arcs, in points
uniform float loop;   // half the width of a loop, in points
uniform float limit;  // edges with less before them are drawn
uniform float most;   // the weight that is drawn strongest
uniform float opacity;
uniform float faintest;  // the strength of an edge of weight 0
uniform int segments;
uniform vec2 frame;  // pixels

out float across;  // pixels from the middle of the curve
flat out float half_width;
flat out float strength;

const float faint = 1.0 / 512.0;
const float least_rise = 10.0, loop_middle = 7.0, loop_half = 6.0;

float place(sampler2D places, uint i) {
    uint width = uint(textureSize(places, 0).x);
    return texelFetch(places, ivec2(i % width, i / width), 0).r * unit;
}

void main() {
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    across = half_width = strength = 0.0;
    float weight = shares.x, strong = opacity * mix(faintest, 1.0, weight / most);
    if (shares.y >= limit || strong < faint) return;
    strength = strong;

    float query = place(query_places, ends.x), key = place(key_places, ends.y), span = key - query;
    float t = float(gl_VertexID >> 1) / float(segments);
    float steep = 6.0 * t * (1.0 - t), middle = t * t * (3.0 - 2.0 * t);
    bool is_loop = !columns && ends.x == ends.y;
    vec2 at, along;
    if (columns) {
        float width = key_origin.x - query_origin.x;
        at = query_origin + vec2(width * t, mix(query, key + key_origin.y - query_origin.y, middle));
        along = vec2(width, (span + key_origin.y - query_origin.y) * steep);
    } else if (is_loop) {
        float angle = 6.283185307 * t;
        at = query_origin + vec2(query + point * loop * sin(angle), point * (loop_half * cos(angle) - loop_middle));
        along = vec2(loop * cos(angle), -loop_half * sin(angle));
    } else {
        float room = (rise - least_rise) * point;
        float height = least_rise * point + room * (1.0 - exp(-abs(span) / (2.6 * room)));
        at = query_origin + vec2(query + span * middle, -4.0 * height * t * (1.0 - t));
        along = vec2(span * steep, -4.0 * height * (1.0 - 2.0 * t));
    }
    float length_along = length(along);
    vec2 aside = length_along > 1.0e-6 ? vec2(-along.y, along.x) / length_along : vec2(0.0, 1.0);

    half_width = 0.5 * max((is_loop ? 1.25 + weight : 1.0 + 4.0 * weight) * point, 1.0);
    across = (half_width + 0.5) * ((gl_VertexID & 1) == 0 ? -1.0 : 1.0);
    vec2 shown = (at + aside * across) / frame;
    gl_Position = vec4(shown.x * 2.0 - 1.0, 1.0 - shown.y * 2.0, 0.0, 1.0);
}
