// Shortens one of two texts that begin alike.
#pragma once

#include <string>

namespace attn {

// Leaves out the beginning that two texts share, except for its last two words: "… was too wide".
std::string from_difference(const std::string& text, const std::string& other);

}  // namespace attn
