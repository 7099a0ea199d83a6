// How a token is shown to people who should see what it consists of.
#pragma once

#include <string>
#include <string_view>

namespace attn {

// A space becomes "·", a line break "↵", a tab "⇥", and another character that leaves no mark "\u200D" or
// "\u{E0041}". The text is well-formed UTF-8.
std::string visible(std::string_view text);

}  // namespace attn
