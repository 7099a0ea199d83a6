#version 300 es
// Colours the cells of a field of values. If cells are smaller than pixels, a pixel shows the
// strongest of those under it, and NaN before all others.
precision highp float;
precision highp int;
precision highp sampler2D;

uniform sampler2D values;    // one channel; see the codes below
uniform sampler2D palette;   // 256 × 1
uniform int rows;            // of the field
uniform vec2 frame;          // pixels
uniform vec2 origin;         // of cell (0, 0), in pixels, downwards
uniform vec2 cell;           // pixels per cell
uniform int tile_columns;    // cells per tile, of which the field holds a row …
uniform float tile_pitch;    // … this many pixels apart
uniform int scaling;         // as in core/maps/value_scale.hpp: 0 linear, 1 logarithmic, 2 rank
uniform float high;          // value at the palette's end
uniform float least;         // magnitudes below this share are coloured as 0
uniform sampler2D quantiles; // 256 × 1, ascending
uniform bool is_signed;      // the strongest value is the farthest from zero, and 0 is the palette's middle
uniform float gap;           // pixels left out between cells
uniform vec4 masked_colour;
uniform vec4 nan_colour;

out vec4 colour;

// render/heatmap.cpp writes these: values beyond float's everyday range encode what a sampler might not preserve.
const float masked_code = -3.0e38;
const float unknown_code = 3.3e38;  // not computed yet: the background shows
bool is_unknown(float v) { return v > 3.2e38; }
bool is_nan(float v) { return v > 2.9e38 && v < 3.1e38; }
bool is_masked(float v) { return v < -2.9e38; }

float stronger(float a, float b) {
    if (is_unknown(a) || is_unknown(b)) return unknown_code;
    if (is_nan(a) || is_masked(b)) return a;
    if (is_nan(b) || is_masked(a)) return b;
    return (is_signed ? abs(b) > abs(a) : b > a) ? b : a;
}

float rank(float magnitude) {
    int below = -1, above = 256;  // the last quantile that is not larger, the first that is
    while (above - below > 1) {
        int middle = (below + above) / 2;
        if (texelFetch(quantiles, ivec2(middle, 0), 0).r <= magnitude) below = middle; else above = middle;
    }
    if (below < 0) return 0.0;
    if (above > 255) return 1.0;
    float low = texelFetch(quantiles, ivec2(below, 0), 0).r, next = texelFetch(quantiles, ivec2(above, 0), 0).r;
    return (float(below) + (magnitude - low) / (next - low)) / 255.0;
}

// Returns 0 … 1, of the palette from zero to its end.
float share(float magnitude) {
    float of_high = magnitude / high;
    float share = scaling == 1 ? log(1.0 + of_high * 1.0e4) / log(1.0 + 1.0e4) : scaling == 2 ? rank(magnitude) : of_high;
    return clamp(share, 0.0, 1.0);
}

void main() {
    vec2 place = vec2(gl_FragCoord.x, frame.y - gl_FragCoord.y) - origin;
    int tile = int(floor(place.x / tile_pitch));
    place.x -= float(tile) * tile_pitch;
    if (place.x >= float(tile_columns) * cell.x) discard;

    vec2 inside = fract(place / cell) * cell;
    if (gap > 0.0 && any(greaterThanEqual(inside, cell - gap))) discard;

    ivec2 first = ivec2(floor(place / cell)), last = first;
    if (cell.x < 1.0) {
        first.x = int(floor((place.x - 0.5) / cell.x + 1.0e-3));
        last.x = int(ceil((place.x + 0.5) / cell.x - 1.0e-3)) - 1;
    }
    if (cell.y < 1.0) {
        first.y = int(floor((place.y - 0.5) / cell.y + 1.0e-3));
        last.y = int(ceil((place.y + 0.5) / cell.y - 1.0e-3)) - 1;
    }
    ivec2 limit = ivec2(tile_columns, rows) - 1;
    first = clamp(first, ivec2(0), limit);
    last = clamp(last, first, limit);

    float value = masked_code;
    for (int row = first.y; row <= last.y; ++row)
        for (int column = first.x; column <= last.x; ++column)
            value = stronger(value, texelFetch(values, ivec2(tile * tile_columns + column, row), 0).r);

    if (is_unknown(value)) discard;
    if (is_nan(value)) {
        colour = nan_colour;
    } else if (is_masked(value)) {
        colour = masked_colour;
    } else {
        float part = is_signed ? share(abs(value)) : value > 0.0 ? share(value) : 0.0;
        if (part < least) part = 0.0;
        float t = is_signed ? 0.5 + 0.5 * sign(value) * part : part;
        colour = texelFetch(palette, ivec2(int(t * 255.0 + 0.5), 0), 0);
    }
}
