// Gives the platform's parts access to the one running program.
#pragma once

#include <cstddef>

#include "app/visit.hpp"
#include "frame/frame.hpp"

namespace attn::platform {

app::Visit& visit();
std::size_t heap_in_use();  // bytes

// Defined in main.cpp.
app::Frame& frame();
void draw_page();
// Lays the page's text field over the canvas, or takes it away.
void show_fields();  // those of the page that lie over the canvas
// Says that the page's elements are not what is drawn.
void tell_semantics();
void theme_changed();

}  // namespace attn::platform
