// Records the names of things on the screen and where they are, for browser tests that use a real mouse.
#pragma once

#include <imgui.h>

#include <map>
#include <string>

namespace attn::ui {

struct Landmark {
    ImVec2 min;
    ImVec2 max;
};

void clear_landmarks();  // at the start of a frame
void landmark(std::string name, ImVec2 min, ImVec2 max);
void landmark_item(std::string name);  // for the last ImGui item
const std::map<std::string, Landmark>& landmarks();

}  // namespace attn::ui
