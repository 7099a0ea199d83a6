#include "widgets/landmarks.hpp"

namespace attn::ui {

namespace {
std::map<std::string, Landmark> all;
}

void clear_landmarks() { all.clear(); }

void landmark(std::string name, ImVec2 min, ImVec2 max) {
    all.insert_or_assign(std::move(name), Landmark{min, max});
}

void landmark_item(std::string name) {
    landmark(std::move(name), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

const std::map<std::string, Landmark>& landmarks() { return all; }

}  // namespace attn::ui
