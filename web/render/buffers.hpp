// Keeps vertex buffers by key. Uploaded bytes stay, and new bytes are appended. A buffer is dropped when it
// is no longer drawn, and uploaded again in a new context.
#pragma once

#include <span>

#include "render/textures.hpp"

namespace attn::render {

// Binds the buffer as the array buffer. A key always stands for the same bytes, but more may be appended.
void bind_buffer(TextureKey key, std::span<const std::byte> bytes);

}  // namespace attn::render
