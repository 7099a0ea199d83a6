// Records the names and positions of things on the screen, for browser tests that use a real mouse.
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

// Names the cells of a grid "<name>/<row>/<column>".
struct LandmarkCells {
    std::string name;
    Index first_row = 0, first_col = 0, rows = 0, cols = 0;
    ImVec2 at;    // corner of the first cell
    ImVec2 step;  // distance from a cell to the next
    ImVec2 size;  // size of a cell
};
void landmark_cells(LandmarkCells cells);
const std::map<std::string, Landmark>& landmarks();

}  // namespace attn::ui
