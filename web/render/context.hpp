// The WebGL2 context: frames, and what is left of it after a loss.
#pragma once

#include <cstdint>

namespace attn::render {

void begin_frame(int width, int height, float red, float green, float blue);  // pixels; clears
std::uint64_t frame_number();                                                 // of those begun

// The browser has taken every program and texture. Each is made anew when it is next drawn.
void context_restored();
std::uint64_t context_number();  // another after each loss

void theme_changed();          // palettes have other colours under the same keys
std::uint64_t theme_number();  // another after each change

}  // namespace attn::render
