// Text from a file, made fit to stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace attn {

// 'text', cut to at most 60 characters, with everything but printable ASCII as \xNN.
std::string quote(std::string_view text);

}  // namespace attn
