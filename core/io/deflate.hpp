// Packs bytes and unpacks them again: deflate (RFC 1951) without a header.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn {

std::string deflated(std::string_view bytes);
// Returns nothing if they are not deflated bytes, or unpack to more than `most`.
std::optional<std::string> inflated(std::string_view packed, std::size_t most);

}  // namespace attn
