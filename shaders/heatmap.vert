#version 300 es
// Draws one rectangle of the frame, without vertex buffers.
uniform highp vec4 rectangle;  // left, top, right, bottom in pixels, downwards
uniform highp vec2 frame;      // pixels

void main() {
    vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
    vec2 place = mix(rectangle.xy, rectangle.zw, corner) / frame;
    gl_Position = vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0);
}
