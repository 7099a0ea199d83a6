#include "widgets/landmarks.hpp"

#include <utility>
#include <vector>

namespace attn::ui {

namespace {
// Every frame notes some hundred landmarks, and hardly anybody asks for them, so they are sorted on demand.
std::vector<std::pair<std::string, Landmark>> noted;
std::vector<LandmarkCells> noted_cells;
std::map<std::string, Landmark> by_name;
bool sorted = true;
}  // namespace

void clear_landmarks() {
    noted.clear();
    noted_cells.clear();
    sorted = false;
}

void landmark(std::string name, ImVec2 min, ImVec2 max) {
    noted.emplace_back(std::move(name), Landmark{min, max});
    sorted = false;
}

void landmark_item(std::string name) {
    landmark(std::move(name), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void landmark_cells(LandmarkCells cells) {
    noted_cells.push_back(std::move(cells));
    sorted = false;
}

const std::map<std::string, Landmark>& landmarks() {
    if (sorted) return by_name;
    by_name.clear();
    for (const LandmarkCells& cells : noted_cells)
        for (Index r = 0; r < cells.rows; ++r)
            for (Index c = 0; c < cells.cols; ++c) {
                const ImVec2 min{cells.at.x + cells.step.x * static_cast<float>(c),
                                 cells.at.y + cells.step.y * static_cast<float>(r)};
                by_name.insert_or_assign(cells.name + "/" + std::to_string(cells.first_row + r) + "/" +
                                             std::to_string(cells.first_col + c),
                                         Landmark{min, {min.x + cells.size.x, min.y + cells.size.y}});
            }
    for (const auto& [name, place] : noted) by_name.insert_or_assign(name, place);
    sorted = true;
    return by_name;
}

}  // namespace attn::ui
