#include "render/target.hpp"

#include <GLES3/gl3.h>

#include <algorithm>

namespace attn::render {

Target::Target(int width, int height) : width_(width), height_(height) {
    glGenTextures(1, &texture_);
    glBindTexture(GL_TEXTURE_2D, texture_);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, width, height);
    glGenFramebuffers(1, &buffer_);
    glBindFramebuffer(GL_FRAMEBUFFER, buffer_);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
}

Target::~Target() {
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glDeleteFramebuffers(1, &buffer_);
    glDeleteTextures(1, &texture_);
}

std::vector<std::uint8_t> Target::read() const {
    const auto stride = static_cast<std::size_t>(width_) * 4, rows = static_cast<std::size_t>(height_);
    std::vector<std::uint8_t> pixels(stride * rows);
    glPixelStorei(GL_PACK_ALIGNMENT, 4);
    glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    // OpenGL returns the bottom row first.
    for (std::size_t y = 0; y < rows / 2; ++y)
        std::swap_ranges(pixels.begin() + static_cast<std::ptrdiff_t>(y * stride),
                         pixels.begin() + static_cast<std::ptrdiff_t>((y + 1) * stride),
                         pixels.begin() + static_cast<std::ptrdiff_t>((rows - 1 - y) * stride));
    return pixels;
}

}  // namespace attn::render
