// Compile-time settings of Dear ImGui, seen by the library and by everyone who includes it.
#pragma once

#define ImDrawIdx unsigned int  // WebGL 2 has no vertex offset, and a large picture has over 65,535 vertices
#define IMGUI_USE_WCHAR32       // tokens go beyond the basic plane
#define IMGUI_DISABLE_FILE_FUNCTIONS
#define IMGUI_DISABLE_OBSOLETE_FUNCTIONS
#define IMGUI_DISABLE_DEMO_WINDOWS
