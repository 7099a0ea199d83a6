#include "render/buffers.hpp"

#include <GLES3/gl3.h>

#include <algorithm>
#include <map>

#include "render/context.hpp"

namespace attn::render {

namespace {

constexpr int buffer_frames_kept = 120;  // frames after which an undrawn buffer is dropped

struct Buffer {
    GLuint name = 0;
    int last_frame = 0;
    std::size_t filled = 0, size = 0;  // bytes
};

struct BufferPool {
    std::map<TextureKey, Buffer> buffers;
    std::uint64_t context = 0;
};
BufferPool buffer_pool;

void sweep_buffers(int frame) {
    if (buffer_pool.context != context_number()) buffer_pool.buffers.clear();
    buffer_pool.context = context_number();
    std::erase_if(buffer_pool.buffers, [&](const auto& entry) {
        const bool old = frame - entry.second.last_frame > buffer_frames_kept;
        if (old) glDeleteBuffers(1, &entry.second.name);
        return old;
    });
}

void write(std::size_t at, std::span<const std::byte> bytes) {
    glBufferSubData(GL_ARRAY_BUFFER, static_cast<GLintptr>(at), static_cast<GLsizeiptr>(bytes.size()),
                    bytes.data());
}

}  // namespace

void bind_buffer(TextureKey key, std::span<const std::byte> bytes) {
    const int frame = ImGui::GetFrameCount();
    sweep_buffers(frame);
    Buffer& buffer = buffer_pool.buffers[key];
    buffer.last_frame = frame;
    if (buffer.name == 0) glGenBuffers(1, &buffer.name);
    glBindBuffer(GL_ARRAY_BUFFER, buffer.name);
    if (bytes.size() > buffer.size) {
        buffer.size = std::max(bytes.size(), 2 * buffer.size);
        buffer.filled = 0;
        glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(buffer.size), nullptr, GL_DYNAMIC_DRAW);
    }
    if (bytes.size() > buffer.filled) write(buffer.filled, bytes.subspan(buffer.filled));
    buffer.filled = std::max(buffer.filled, bytes.size());
}

}  // namespace attn::render
