#include "widgets/landmarks.hpp"

#include <utility>
#include <vector>

namespace attn::ui {

namespace {
// Every frame notes some hundred landmarks, and hardly anybody asks for them: they are sorted on demand.
std::vector<std::pair<std::string, Landmark>> noted;
std::map<std::string, Landmark> by_name;
bool sorted = true;
}  // namespace

void clear_landmarks() {
    noted.clear();
    sorted = false;
}

void landmark(std::string name, ImVec2 min, ImVec2 max) {
    noted.emplace_back(std::move(name), Landmark{min, max});
    sorted = false;
}

void landmark_item(std::string name) {
    landmark(std::move(name), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

const std::map<std::string, Landmark>& landmarks() {
    if (sorted) return by_name;
    by_name.clear();
    for (const auto& [name, place] : noted) by_name.insert_or_assign(name, place);
    sorted = true;
    return by_name;
}

}  // namespace attn::ui
