// Provides glyphs that the page's own fonts lack, such as Han and emoji, and whole runs of scripts whose
// letters join (widgets/script.hpp). The browser draws them with the system's fonts.
#pragma once

#include <imgui.h>
#include <imgui_internal.h>

namespace attn::platform {

// A character that is in none of the system's fonts is drawn as its number: "U+732B".
const ImFontLoader* browser_glyphs();

}  // namespace attn::platform
