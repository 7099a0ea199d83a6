// Adapts the wording of texts to the kind of pointer: on a touch screen, nobody clicks, hovers or drops
// files.
#pragma once

#include <string>
#include <string_view>

namespace attn::ui {

// Returns the text as it reads for a mouse, or for fingers. Text in “ ” is quoted, so it stays unchanged.
std::string for_pointer(std::string_view text);
std::string for_fingers(std::string_view text);

}  // namespace attn::ui
