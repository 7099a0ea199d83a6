// Vertex buffers by key: what has been uploaded stays, what comes to it is appended; dropped when no longer drawn, uploaded
// again in a new context.
#pragma once

#include <span>

#include "render/textures.hpp"

namespace attn::render {

// Binds it as the array buffer. The same key stands for the same bytes, of which there may come to be more.
void bind_buffer(TextureKey key, std::span<const std::byte> bytes);

}  // namespace attn::render
