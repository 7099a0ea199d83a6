// Makes text from a file fit to stand in a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

// Returns 'text', cut to at most so many characters, with everything but printable ASCII written as \xNN.
std::string quote(std::string_view text, std::size_t limit = 60);

}  // namespace attn
