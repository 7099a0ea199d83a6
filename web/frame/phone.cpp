// The layout for phones.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "widgets/controls.hpp"
#include "widgets/page_field.hpp"

namespace attn::app {

namespace {

constexpr float phone_tabs_height = 52, phone_menu_height = 44, sheet_share = 0.42f, close_size = 40,
                most_menu_width = 362;

}  // namespace

// Draws the layout for phones: subjects as tabs, lenses behind one button, the inspector as a sheet at the
// bottom.
void Frame::draw_narrow(const Rect& window) {
    const ui::Theme& t = ui::theme();
    const auto [at, size] = window;
    const float top = phone_tabs_height + phone_menu_height;
    // The sheet does not open for a hovered cell: it would slip under the finger before it is pressed.
    const bool pinned = visit_.state().pin.has_value();
    tells_head_ = tells_head_ && !pinned && !head_told().empty();
    const bool explains = pinned || tells_head_;
    const float bottom = at.y + size.y - status_height;
    const float sheet = explains ? std::floor(size.y * sheet_share) : 0;
    panel("tabs", at, {size.x, phone_tabs_height}, t.surface, {8, 6}, [&] { draw_tabs(size.x - 16); });
    panel("lenses", {at.x, at.y + phone_tabs_height}, {size.x, phone_menu_height}, t.surface, {14, 4},
          [&] { draw_lens_menu(size.x - 28); });
    panel("lens", {at.x, at.y + top}, {size.x, size.y - top - sheet - status_height}, {}, {14, 14}, [&] {
        draw_lens();
        steady_.keep();
    });
    if (explains) draw_sheet({{at.x, bottom - sheet}, {size.x, sheet}});
    panel("status", {at.x, bottom}, {size.x, status_height}, t.surface, {14, 7},
          [&] { draw_status(size.x - 14); });
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddLine({at.x, at.y + top}, {at.x + size.x, at.y + top}, t.border);
    list->AddLine({at.x, bottom - sheet}, {at.x + size.x, bottom - sheet}, t.border);
}

// Draws the explanation of the pinned cell, or of the chosen head. What changes an input, and what the change does, stay in view above
// it.
void Frame::draw_sheet(const Rect& sheet) {
    const ImVec2 at = sheet.at, end{at.x + sheet.size.x, at.y + sheet.size.y};
    bool closes = false;
    float scrolled = 0;
    panel("inspector", at, sheet.size, ui::theme().surface, {16, 10}, [&] {
        const ImVec2 corner = ImGui::GetCursorScreenPos();
        const float width = ImGui::GetContentRegionAvail().x;
        ImGui::SetCursorScreenPos({corner.x + width - close_size, corner.y});
        closes = ImGui::Button("×", {close_size, close_size});
        ui::landmark_item("sheet/close");
        ui::semantic_item(ui::Role::button, "sheet/close", "Close");
        ImGui::SetCursorScreenPos(corner);
        float room = width - close_size - 8;
        if (const auto input = pinned_input()) {
            if (ui::by_touch()) draw_number(*input);
            ImGui::SetCursorScreenPos({corner.x, corner.y + close_size + 8});
            draw_effect(input->ladder, visit_.state().selection.query.value_or(0), width);
            room = width;
        }
        ImGui::BeginChild("explanation", {room, 0});
        tells_head_ ? draw_head_told() : draw_explanation();
        ui::scroll_by_drag();
        scrolled = ImGui::GetScrollY();
        ImGui::EndChild();
    });
    if (closes || sheet_.closed_by_finger(at, end, scrolled, now_.cell.has_value())) close_explanation();
}

// Draws the same behind one button, for phones.
void Frame::draw_lens_menu(float width) {
    const std::string name = std::string(lens_of(visit_.state()).name) + "  ▾";
    if (ui::button("lens-menu", name.c_str())) ImGui::OpenPopup("lenses");
    ui::rename_node(lens_of(visit_.state()).name);
    ui::node_opens(ImGui::IsPopupOpen("lenses"));
    const ImVec2 at = ImGui::GetItemRectMin(), end = ImGui::GetItemRectMax();
    draw_chosen_head(at.x + width, width - (end.x - at.x) - 12, (at.y + end.y) / 2);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {8, 10});
    ImGui::SetNextWindowPos({at.x, end.y + 4});
    const ImVec2 window = ImGui::GetMainViewport()->Size;
    const float menu = std::min(window.x - 2 * at.x, most_menu_width);
    ImGui::SetNextWindowSize({menu, 0});
    ImGui::SetNextWindowSizeConstraints({menu, 0}, {menu, window.y - status_height - end.y - 4});
    if (ImGui::BeginPopup("lenses")) {
        const std::string_view before = visit_.state().lens;
        draw_rail(2);
        ui::scroll_by_drag();
        if (visit_.state().lens != before) ImGui::CloseCurrentPopup();
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
}

}  // namespace attn::app
