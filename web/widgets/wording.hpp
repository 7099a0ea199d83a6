// Words what a person does by the kind of pointer: where fingers point, nobody clicks, hovers or drops files.
#pragma once

#include <string>
#include <string_view>

namespace attn::ui {

// Returns the text as it reads for a mouse, or for fingers. What stands in “ ” is quoted, and stays.
std::string for_pointer(std::string_view text);
std::string for_fingers(std::string_view text);

}  // namespace attn::ui
