// Keeps track of frames and of losses of the WebGL2 context.
#pragma once

#include <cstdint>

namespace attn::render {

void begin_frame(int width, int height, float red, float green, float blue);  // size in pixels; clears
std::uint64_t frame_number();                                                 // number of frames begun

// The browser has discarded every program and texture. Each is recreated when it is next drawn.
void context_restored();
std::uint64_t context_number();  // changes after each loss

void theme_changed();          // palettes now have other colours under the same keys
std::uint64_t theme_number();  // changes with each theme

}  // namespace attn::render
