// The one running program, as its parts on this platform see it.
#pragma once

#include <optional>
#include <string>

#include "app/session.hpp"

namespace attn::platform {

app::Session& session();

std::size_t heap_in_use();  // bytes

// In main.cpp.
void draw_page();
void pasted(const std::string& text);  // while no text field is active
void theme_changed();
std::optional<app::CellRef>
explained_cell();  // under the cursor, else pinned: the one the inspector explains

}  // namespace attn::platform
