// Numbers as files hold them.
#pragma once

#include <bit>
#include <cstring>

namespace attn {

static_assert(std::endian::native == std::endian::little);

// Reads a little-endian number of any alignment.
template <class T>
T little_endian_at(const void* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

}  // namespace attn
