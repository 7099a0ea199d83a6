#include <imgui.h>

#include <string>
#include <utility>

#include "subjects/worked/commands.hpp"
#include "subjects/worked/label_menu.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

void LabelMenu::open(const WorkedState& worked, Stage matrix, std::optional<Index> row,
                     std::optional<Index> column) {
    if (!row && !column) return;
    const auto [rows, columns] = axes_of(matrix);
    axis_ = row ? rows : columns;
    index_ = row ? *row : *column;
    text_ = {};
    const auto& labels = axis_ == Axis::keys ? worked.key_labels : worked.query_labels;
    if (names_a_token() && index_ < std::ssize(labels))
        labels[static_cast<std::size_t>(index_)].copy(text_.data(), text_.size() - 1);
    opening_ = true;
}

void LabelMenu::name_field(Visit& visit) {
    ImGui::SetNextItemWidth(ui::menu_width);
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    if (ImGui::InputText("##name", text_.data(), text_.size(), ImGuiInputTextFlags_EnterReturnsTrue)) {
        visit.perform(SetLabel{axis_ == Axis::keys, index_, text_.data()});
        ImGui::CloseCurrentPopup();
    }
    ui::landmark_item("label/name");
    ui::semantic_field(ui::Role::textbox, "label/name", "Name", text_.data());
}

void LabelMenu::draw(Visit& visit) {
    if (std::exchange(opening_, false)) ImGui::OpenPopup("label");
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {12, 12});
    if (ImGui::BeginPopup("label")) {
        if (names_a_token()) name_field(visit);
        const std::string remove =
            names_a_token() ? "Remove this token" : "Remove component " + std::to_string(index_);
        if (ui::button("label/remove", remove.c_str())) {
            visit.perform(RemoveAt{axis_, index_});
            ImGui::CloseCurrentPopup();
        }
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
}

}  // namespace attn::app
