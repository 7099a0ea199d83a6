// Makes text from a file fit to stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace attn {

// Returns 'text', cut to at most 60 characters, with everything but printable ASCII written as \xNN.
std::string quote(std::string_view text);

}  // namespace attn
