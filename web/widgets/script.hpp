// Scripts whose letters join or run from right to left, such as Arabic and Devanagari. Dear ImGui draws one character
// after the other, so each run of such letters stands as one character for private use, which the browser draws.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

namespace attn::ui {

// Where the browser cannot draw them, such letters stand apart, as the page's own fonts have them.
void join_letters(bool browser_draws);
// Says whether a text has letters that are to be joined.
bool has_joined_runs(std::string_view text);
// Returns the text with one character for each run of them, and the words of a phrase from right to left in that order.
std::string with_joined_runs(std::string_view text);
// Returns the text that a character stands for: its run, or itself.
std::string text_of(ImWchar character);

}  // namespace attn::ui
