#include "render/textures.hpp"

#include <GLES3/gl3.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "render/context.hpp"

namespace attn::render {

namespace {

constexpr std::uint64_t frames_kept = 120;  // frames after which an undrawn texture is dropped

struct Texture {
    GLuint name = 0;
    std::uint64_t last_frame = 0;
    std::uint64_t version = 0;  // version of its contents
};

struct Pool {
    std::map<TextureKey, Texture> textures;
    std::uint64_t context = 0;
    std::uint64_t swept = 0;
};
Pool pool;

void sweep(std::uint64_t frame) {
    if (pool.context != context_number()) pool.textures.clear();
    pool.context = context_number();
    if (frame - pool.swept < frames_kept) return;
    pool.swept = frame;
    std::erase_if(pool.textures, [&](const auto& entry) {
        const bool old = frame - entry.second.last_frame > frames_kept;
        if (old) glDeleteTextures(1, &entry.second.name);
        return old;
    });
}

// Binds the texture with that key; returns true if this version of its contents has to be uploaded.
bool bind(TextureKey key, std::uint64_t version) {
    const std::uint64_t frame = frame_number();
    sweep(frame);
    Texture& texture = pool.textures[key];
    texture.last_frame = frame;
    if (texture.name == 0) glGenTextures(1, &texture.name);
    glBindTexture(GL_TEXTURE_2D, texture.name);
    if (texture.version == version) return false;
    texture.version = version;
    for (const GLenum parameter : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
        glTexParameteri(GL_TEXTURE_2D, parameter, GL_NEAREST);
    for (const GLenum parameter : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T})
        glTexParameteri(GL_TEXTURE_2D, parameter, GL_CLAMP_TO_EDGE);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
    return true;
}

float coded(float value) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (std::isnan(value)) return 3.0e38f;
    if (value == -infinity) return -3.0e38f;
    if (value == infinity) return 3.3e38f;
    return std::fmin(std::fmax(value, -2.8e38f), 2.8e38f);
}

}  // namespace

void bind_values(TextureKey key, std::uint64_t version, std::span<const float> values, Index rows,
                 Index cols) {
    if (!bind(key, version)) return;
    std::vector<float> texels;
    texels.reserve(values.size());
    for (const float value : values) texels.push_back(coded(value));
    glTexImage2D(GL_TEXTURE_2D, 0, GL_R32F, static_cast<GLsizei>(cols), static_cast<GLsizei>(rows), 0, GL_RED,
                 GL_FLOAT, texels.data());
}

void bind_colours(TextureKey key, std::span<const ImU32> colours) {
    if (!bind(key, theme_number())) return;
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, static_cast<GLsizei>(colours.size()), 1, 0, GL_RGBA,
                 GL_UNSIGNED_BYTE, colours.data());
}

}  // namespace attn::render
