#include "render/context.hpp"

#include <GLES3/gl3.h>

extern "C" void attn_get_integerv(GLenum name, GLint* values);

// Replaces glGetIntegerv in Dear ImGui's backend, which saves the state before a frame and restores it
// afterwards. For blending and the scissor box, a browser has to query another process, at 0.15 ms for each
// of seven calls. Everything that draws here sets what it needs of both, so any values will do.
void attn_get_integerv(GLenum name, GLint* values) {
    switch (name) {
        case GL_SCISSOR_BOX: values[0] = values[1] = values[2] = values[3] = 0; break;
        case GL_BLEND_SRC_RGB:
        case GL_BLEND_SRC_ALPHA: *values = GL_ONE; break;
        case GL_BLEND_DST_RGB:
        case GL_BLEND_DST_ALPHA: *values = GL_ZERO; break;
        case GL_BLEND_EQUATION_RGB:
        case GL_BLEND_EQUATION_ALPHA: *values = GL_FUNC_ADD; break;
        default: glGetIntegerv(name, values);
    }
}

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
