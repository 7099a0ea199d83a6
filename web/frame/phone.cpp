// The layout for phones.
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/page_field.hpp"

namespace attn::app {

namespace {

constexpr float row_height = 46, row_inset = 3, sheet_share = 0.42f, most_sheet_width = 340,
                low_sheet_share = 0.45f, close_size = 40, most_menu_width = 362, low_tabs_share = 0.56f,
                above_sheet = 56;

}  // namespace

// Draws the layout for phones: subjects as tabs, lenses behind one button, and a sheet at the bottom for the
// inspector, or else for the lesson. A phone held sideways has the tabs and the lens button in one row,
// no status line, and the sheet on its right. A lens alone has neither tabs nor a status line either.
void Frame::draw_narrow(const Rect& window) {
    const ui::Theme& t = ui::theme();
    const auto [at, size] = window;
    const bool low = ui::low_window_now(), beside = low || !ui::narrow_window();
    // The sheet does not open for a hovered cell: it would slide under the finger before the cell is pressed.
    // Nor for a cell that a lesson's step has pinned, before the step has been read.
    lesson_pin_.follow(visit_, lessons_);
    const bool pinned = visit_.state().pin.has_value() && !lesson_pin_.holds(visit_.state());
    if (pinned || (told_ == Told::head && head_told().empty())) told_ = Told::nothing;
    const bool explained = explains_;
    // A cell being dragged stays under the finger.
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) explains_ = pinned || told_ != Told::nothing;
    const float tabs = alone_ ? 0
                       : low  ? std::floor(size.x * low_tabs_share)
                              : size.x,
                top = low || alone_ ? row_height : 2 * row_height,
                bottom = at.y + size.y - (low || alone_ ? 0 : status_height);
    const float menu_left = low ? tabs : 0, menu_width = size.x - menu_left;
    const float sheet_width = std::min(most_sheet_width, std::floor(size.x * low_sheet_share));
    const bool teaches = !explains_ && lessons_.is_open();
    const float sheet_height = explains_ ? std::floor(size.y * sheet_share)
                               : teaches ? lesson_sheet_height(size.y)
                                         : 0;
    const Rect sheet = sheet_height == 0 ? Rect{{at.x, bottom}, {0, 0}}
                       : beside ? Rect{{at.x + size.x - sheet_width, at.y + top}, {sheet_width, size.y - top}}
                                : Rect{{at.x, bottom - sheet_height}, {size.x, sheet_height}};
    // A cell that the opening sheet would cover moves above it.
    const float covered = explains_ && !explained && pinned && !beside
                              ? ImGui::GetIO().MouseClickedPos[0].y - (sheet.at.y - above_sheet)
                              : 0;
    if (alone_)
        ui::folded().subject = ui::folded().head = false;
    else
        panel("tabs", at, {tabs, row_height}, t.surface, {8, 3}, [&] { draw_tabs(tabs - 16); });
    panel("lenses", {at.x + menu_left, at.y + top - row_height}, {menu_width, row_height}, t.surface,
          {14, row_inset},
          [&] { alone_ ? draw_lens_row(menu_width - 28) : draw_lens_menu(menu_width - 28); });
    scrolling_panel(
        "lens", {at.x, at.y + top},
        {beside ? size.x - sheet.size.x : size.x, bottom - at.y - top - (beside ? 0 : sheet.size.y)}, {},
        {14, 12}, [&] {
            draw_lens();
            steady_.keep();
            if (alone_) scroll_by_ctrl_wheel();
            if (covered > 0) ImGui::SetScrollY(ImGui::GetScrollY() + covered);
        });
    if (explains_) draw_sheet(sheet);
    if (teaches) draw_lesson_sheet(sheet);
    if (!low && !alone_)
        panel("status", {at.x, bottom}, {size.x, status_height}, t.surface, {14, 7},
              [&] { draw_status(size.x - 14); });
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddLine({at.x, at.y + top}, {at.x + size.x, at.y + top}, t.border);
    if (beside && sheet_height > 0)
        list->AddLine(sheet.at, {sheet.at.x, bottom}, t.border);
    else if (!beside)
        list->AddLine(sheet.at, {at.x + size.x, sheet.at.y}, t.border);
}

// Draws the explanation of the pinned cell, or of the chosen head. The controls of an input, and their
// effect, stay in view above it.
void Frame::draw_sheet(const Rect& sheet) {
    const ImVec2 at = sheet.at, end{at.x + sheet.size.x, at.y + sheet.size.y};
    bool closes = false;
    panel("inspector", at, sheet.size, ui::theme().surface, sheet_inset, [&] {
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
        ImGui::SetNextWindowContentSize({room - ImGui::GetStyle().ScrollbarSize, 0});
        ImGui::BeginChild("explanation", {room, 0});
        if (lessons_.is_open() &&
            ui::button("sheet/lesson", lessons_.run().may_go_on(visit_) ? "Step done: back to the lesson"
                                                                        : "Back to the lesson"))
            closes = true;
        told_ == Told::head ? draw_head_told() : draw_explanation();
        ui::scroll_by_drag();
        ImGui::EndChild();
    });
    if (closes || sheet_.closed_by_finger(at, end, now_.cell.has_value())) close_explanation();
}

// Draws the rail behind one button, for phones.
void Frame::draw_lens_menu(float width) {
    const std::string name = std::string(lens_of(visit_.state()).name) + "  ▾";
    if (ui::button("lens-menu", name.c_str())) ImGui::OpenPopup("lenses");
    ui::rename_node(lens_of(visit_.state()).name);
    ui::node_opens(ImGui::IsPopupOpen("lenses"));
    const ImVec2 at = ImGui::GetItemRectMin(), end = ImGui::GetItemRectMax();
    draw_lens_buttons();
    const float used = ImGui::GetItemRectMax().x - at.x;
    draw_chosen_head(at.x + width, width - used - 12, (at.y + end.y) / 2);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {8, 10});
    ImGui::SetNextWindowPos({at.x, end.y + 4});
    const ImVec2 window = ImGui::GetMainViewport()->Size;
    const float menu = std::min(window.x - at.x - 14, most_menu_width);
    ImGui::SetNextWindowSize({menu, 0});
    ImGui::SetNextWindowSizeConstraints(
        {menu, 0}, {menu, window.y - (ui::low_window_now() ? 4 : status_height) - end.y - 4});
    if (ImGui::BeginPopup("lenses")) {
        const std::string_view before = visit_.state().lens;
        const bool pressed = draw_rail(3);
        ui::scroll_by_drag();
        if (pressed || visit_.state().lens != before) ImGui::CloseCurrentPopup();
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
}

// The wheel alone belongs to the page around a lens that is alone. Where it does not zoom, it scrolls.
void Frame::scroll_by_ctrl_wheel() {
    constexpr float lines = 5;  // a notch
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl && io.MouseWheel != 0 && ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) &&
        ImGui::TestKeyOwner(ImGuiKey_MouseWheelY, ImGuiKeyOwner_NoOwner))
        ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseWheel * lines * ImGui::GetTextLineHeight());
}

// Draws the row above a lens that is alone: its name, the head, and the way to the whole page.
void Frame::draw_lens_row(float width) {
    const float height = ImGui::GetFrameHeight();
    ImGui::SetCursorPosY(std::floor((row_height - height) / 2));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float middle = at.y + height / 2;
    {
        const ui::Type semibold(ui::Face::semibold, ui::size_body);
        ImGui::AlignTextToFramePadding();
        ui::text_item(lens_of(visit_.state()).name);
        ui::semantic_text(ui::Role::heading, lens_of(visit_.state()).name);
    }
    draw_lens_buttons();
    const float used = ImGui::GetItemRectMax().x - at.x;
    const char* label = "Open in full";
    const float whole = ui::text_size(label).x + 2 * ImGui::GetStyle().FramePadding.x;
    ImGui::SetCursorScreenPos({at.x + width - whole, at.y});
    if (ui::button("whole", label)) visit_.page().open_whole();
    draw_chosen_head(at.x + width - whole - 12, width - used - whole - 24, middle);
}

// Draws the buttons for the guide and for settings that are folded away.
void Frame::draw_lens_buttons() {
    ImGui::SameLine(0, 8);
    draw_guide_button();
    if (!ui::folded().offered) return;
    ImGui::SameLine(0, 8);
    if (ui::toggle("settings", "Settings", ui::folded().open)) ui::folded().open = !ui::folded().open;
    ui::node_opens(ui::folded().open);
}

// Draws the lens's guide, which has its place in the inspector if there is one.
void Frame::draw_guide_button() {
    if (ImGui::Button("?", {ImGui::GetFrameHeight(), 0})) {
        told_ = told_ == Told::guide ? Told::nothing : Told::guide;
        if (visit_.state().pin) visit_.perform(Pin{std::nullopt});
    }
    ui::landmark_item("guide");
    ui::semantic_item(ui::Role::button, "guide", "How to use this lens");
    ui::node_opens(told_ == Told::guide);
}

}  // namespace attn::app
