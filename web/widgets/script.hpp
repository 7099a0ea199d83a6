// Handles what several characters draw together: letters that join or run from right to left, such as Arabic
// and Devanagari, letters with marks, and emoji with modifiers. Dear ImGui draws one character after the
// other, so each such run is replaced by one private-use character, which the browser draws.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

namespace attn::ui {

// If the browser cannot draw them, such letters stay separate, in the page's own fonts.
void join_letters(bool browser_draws);
// Says whether a text may have such runs.
bool has_joined_runs(std::string_view text);
// Returns the text with each run replaced by one character, and with the words of a right-to-left phrase in
// visual order.
std::string with_joined_runs(std::string_view text);
// Returns the text that a character stands for: its run, or itself.
std::string text_of(ImWchar character);

}  // namespace attn::ui
