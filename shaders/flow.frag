#version 300 es
// Draws the edges of a flow in one colour, with smooth sides.
precision highp float;

uniform vec4 colour;

in float across;
flat in float half_width;
flat in float strength;
out vec4 pixel;

void main() {
    float inside = clamp(half_width + 0.5 - abs(across), 0.0, 1.0);
    pixel = vec4(colour.rgb, colour.a * min(strength, 1.0) * inside);
}
