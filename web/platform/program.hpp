// Gives the platform's parts access to the one running program.
#pragma once

#include <cstddef>
#include <string>

#include "app/visit.hpp"
#include "frame/frame.hpp"

namespace attn::platform {

app::Visit& visit();
std::size_t heap_in_use();  // bytes
// Keeps a string for the shell, which reads it before its next call.
const char* returned(std::string text);

// Defined in main.cpp.
app::Frame& frame();
void draw_page();
// Lays the page's text field over the canvas, or removes it.
void show_fields();  // the page's text fields over the canvas
// Reports that the page's elements no longer match what is drawn.
void tell_semantics();
void theme_changed();
// Starts a thread for each of the browser's cores if the program has threads.
void use_threads();

}  // namespace attn::platform
