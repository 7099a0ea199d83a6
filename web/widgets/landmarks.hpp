// Records the names of things on the screen and where they are, for browser tests that use a real mouse.
#pragma once

#include <imgui.h>

#include <map>
#include <string>

#include "tensor/tensor.hpp"

namespace attn::ui {

struct Landmark {
    ImVec2 min;
    ImVec2 max;
};

void clear_landmarks();  // at the start of a frame
void landmark(std::string name, ImVec2 min, ImVec2 max);
void landmark_item(std::string name);  // for the last ImGui item

// The cells of a grid, "<name>/<row>/<column>" each.
struct LandmarkCells {
    std::string name;
    Index first_row = 0, first_col = 0, rows = 0, cols = 0;
    ImVec2 at;    // corner of the first cell
    ImVec2 step;  // from a cell to the next
    ImVec2 size;  // of a cell
};
void landmark_cells(LandmarkCells cells);
const std::map<std::string, Landmark>& landmarks();

}  // namespace attn::ui
