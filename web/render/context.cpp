#include "render/context.hpp"

#include <GLES3/gl3.h>

namespace attn::render {

namespace {
std::uint64_t contexts = 1, themes = 1, frames = 0;
}

void begin_frame(int width, int height, float red, float green, float blue) {
    ++frames;
    glViewport(0, 0, width, height);
    glDisable(GL_SCISSOR_TEST);
    glClearColor(red, green, blue, 1);
    glClear(GL_COLOR_BUFFER_BIT);
}

std::uint64_t frame_number() { return frames; }

void context_restored() { ++contexts; }

std::uint64_t context_number() { return contexts; }

void theme_changed() { ++themes; }

std::uint64_t theme_number() { return themes; }

}  // namespace attn::render
