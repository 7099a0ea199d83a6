// Draws the row of tabs: the subjects, the open subject's own controls, and the chosen head, whose name opens
// what is told of it and the choice of another.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "frame/frame.hpp"
#include "frame/panel.hpp"
#include "parts/part.hpp"
#include "widgets/controls.hpp"
#include "widgets/fingers.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float tab_height = 34, gap = 6, wide_gap = 12, widest_tab = 112;
// Sizes in the popup of the chosen head.
constexpr float told_width = 420, cell_side = 30, cell_gap = 3, layer_width = 86, highest_grid = 330;

std::string with_arrow(const std::string& text) { return text + " ▾"; }

}  // namespace

bool flat_tab(const std::string& landmark, const char* name, bool on, bool faint, ImVec2 size, float align) {
    const ui::Theme& t = ui::theme();
    ImGui::PushID(landmark.c_str());
    ImGui::PushStyleColor(ImGuiCol_Button, on ? t.accent_soft : 0u);
    ImGui::PushStyleColor(ImGuiCol_Text, faint ? t.dim : t.text);
    ImGui::PushStyleVar(ImGuiStyleVar_ButtonTextAlign, {align, 0.5f});
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {align == 0 ? 14.0f : 4.0f, 2});
    bool pressed = false;
    {
        ui::Type face(on ? ui::Face::semibold : ui::Face::regular, ui::size_body);
        pressed = ImGui::Button(name, size);
    }
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
    ImGui::PopID();
    ui::landmark_item(landmark);
    ui::semantic_item(ui::Role::tab, landmark, name).on = on;
    return pressed;
}

void Frame::draw_tab(const SubjectEntry& subject, float width) {
    const bool on = visit_.state().subject == subject.key;
    const float height = std::max(tab_height, ImGui::GetFrameHeight());
    if (flat_tab("subject/" + std::string(subject.key), subject.name, on, false, {width, height}, 0.5f))
        visit_.perform(OpenSubject{subject.key});
}

void Frame::draw_tabs(float width) {
    const auto count = static_cast<float>(subject_list().size());
    // If room is short, a long name gives way before a short one.
    const auto text = [](const SubjectEntry& subject) {
        const ui::Type semibold(ui::Face::semibold, ui::size_body);
        return ui::text_size(subject.name).x;
    };
    float spare = width - gap * (count - 1);
    for (const SubjectEntry& subject : subject_list()) spare -= text(subject);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    {
        const ui::SemanticGroup tabs(ui::Role::tablist, "subjects", "What to look at");
        for (const SubjectEntry& subject : subject_list()) {
            if (&subject != &subject_list().front()) ImGui::SameLine(0, gap);
            const float even = (width - gap * (count - 1)) / count;
            draw_tab(subject,
                     even >= widest_tab ? widest_tab : std::min(widest_tab, text(subject) + spare / count));
        }
    }
    // On a phone, the chosen head is beside the lens.
    ui::folded().subject = ui::folded().head = false;
    if (ui::narrow_window()) return;
    const ImVec2 at = ImGui::GetItemRectMin(), end = ImGui::GetItemRectMax();
    draw_beside_tabs(end.x + wide_gap, corner.x + width, (at.y + end.y) / 2);
}

bool Frame::is_brief() const {
    return subject_of(visit_.state()).lens != visit_.state().lens && !lens_of(visit_.state()).compares;
}

// Draws the subject's controls, then the chosen head at the right end. The name gives way to the controls as
// far as it can.
void Frame::draw_beside_tabs(float left, float right, float middle) {
    Subject& subject = subject_in(visit_);
    const Deadline deadline(frame_ms);
    const Drawing drawing{visit_, before_, now_, deadline};
    const float inset = 2 * ImGui::GetStyle().FramePadding.x, top = middle - ImGui::GetFrameHeight() / 2;
    const auto width_of = [&](const std::string& text) { return ui::text_size(with_arrow(text)).x + inset; };
    const std::vector<std::string> names = head_names();
    const bool has_name = !names.empty() && left + width_of(names.front()) <= right;
    const float least = has_name ? width_of(names.front()) + wide_gap : 0,
                taken = beside_tabs_ > 0 ? beside_tabs_ + wide_gap : 0;
    std::string name;
    for (const std::string& each : names)
        if (has_name && left + taken + width_of(each) <= right) name = each;
    if (has_name && name.empty()) name = names.front();
    const float end = right - (has_name ? width_of(name) + wide_gap : 0);
    ui::folded().head = has_name;
    ImGui::SetCursorScreenPos({std::max(left, end - beside_tabs_), top});
    ImGui::BeginGroup();
    ui::folded().subject = subject.draw_in_tabs(drawing, is_brief(), right - left - least);
    ImGui::EndGroup();
    beside_tabs_ = ui::folded().subject ? ImGui::GetItemRectSize().x : 0;
    if (!has_name) return;
    ImGui::SetCursorScreenPos({right - width_of(name), top});
    draw_head_menu(drawing, name);
}

// Returns the chosen head's name, short to long; none if there is only one head.
std::vector<std::string> Frame::head_names() const {
    Subject& subject = subject_in(visit_);
    const HeadCount heads = subject.head_count();
    if (heads.all() < 2) return {};
    const HeadIndex head = subject.chosen_head();
    const NamedHeads* named = subject.named_heads();
    const std::string name = named ? named->name(head) : "", full = head_text(head, heads.layers);
    std::vector<std::string> names{"head " + heads.layers.short_head(head), full};
    if (!name.empty()) names.push_back(full + " · " + name);
    return names;
}

// Draws the chosen head and what it is named after, to the left of `right`, if there is room. A phone has no
// inspector beside the lens: the name opens the sheet with its explanation.
void Frame::draw_chosen_head(float right, float room, float middle) {
    std::string text;
    for (const std::string& each : head_names())
        if (text.empty() || ui::text_size(each).x <= room) text = each;
    const ImVec2 size = ui::text_size(text);
    if (text.empty() || size.x > room) return;
    const ImVec2 min{right - size.x, middle - size.y / 2}, max{right, middle + size.y / 2};
    ui::draw_text(ImGui::GetWindowDrawList(), min, ui::theme().dim, text);
    ui::landmark("head-name", min, max);
    if (head_told().empty()) return ui::semantic_text(text, min, max);
    const float finger = std::max((ui::finger_size - (max.y - min.y)) / 2, 0.0f);
    ImGui::SetCursorScreenPos({min.x, min.y - finger});
    if (ImGui::InvisibleButton("head-name", {max.x - min.x, max.y - min.y + 2 * finger},
                               ImGuiButtonFlags_EnableNav)) {
        told_ = told_ == Told::head ? Told::nothing : Told::head;
        if (visit_.state().pin) visit_.perform(Pin{std::nullopt});
    }
    ui::semantic_item(ui::Role::button, "head-name", text + ", what this head does");
    ui::node_opens(told_ == Told::head);
    ImGui::GetWindowDrawList()->AddLine({min.x, max.y}, max, ui::with_alpha(ui::theme().accent, 0.6f));
}

// Draws the chosen head's name, which opens what is told of it and the choice of another head.
void Frame::draw_head_menu(const Drawing& drawing, const std::string& name) {
    ImGui::PushStyleColor(ImGuiCol_Button, 0u);
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    if (ui::button("head-name", with_arrow(name).c_str())) ImGui::OpenPopup("head");
    ImGui::PopStyleColor(2);
    ui::rename_node(name);
    if (const std::string told = head_told(); !told.empty()) ui::tooltip(told.c_str());
    ui::node_opens(ImGui::IsPopupOpen("head"));
    const ImVec2 end = ImGui::GetItemRectMax();
    ImGui::SetNextWindowPos({end.x, end.y + 4}, ImGuiCond_Always, {1, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {16, 14});
    if (ImGui::BeginPopup("head")) {
        {
            const ui::SemanticGroup group(ui::Role::group, "panel/head", "The chosen head");
            draw_head_choice(drawing);
        }
        const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
        ui::landmark("panel/head", at, {at.x + size.x, at.y + size.y});
        ImGui::EndPopup();
    }
    ImGui::PopStyleVar();
}

// Draws the heads as a table: a row for each layer.
void Frame::draw_head_choice(const Drawing& drawing) {
    Subject& subject = subject_in(visit_);
    const HeadCount heads = subject.head_count();
    const HeadIndex chosen = subject.chosen_head();
    const NamedHeads* named = subject.named_heads();
    const auto name_of = [&](const HeadIndex& head) { return named ? named->name(head) : std::string(); };
    const auto in_full = [&](const HeadIndex& head, const char* between) {
        const std::string name = name_of(head);
        return head_text(head, heads.layers, between) + (name.empty() ? "" : between + name);
    };
    const float heads_width = static_cast<float>(heads.heads) * (cell_side + cell_gap) + layer_width + 16;
    // Without the head's name, which is told below, it has one line.
    ui::section(capitalised(head_text(chosen, heads.layers, " · ")).c_str());
    ui::landmark_item("heading");
    ImGui::Dummy({told_width, 2});
    const float height = static_cast<float>(heads.layers.count) * (cell_side + cell_gap);
    ImGui::BeginChild("heads", {std::min(heads_width, 2 * told_width), std::min(height, highest_grid)},
                      ImGuiChildFlags_NavFlattened);
    {
        const ui::SemanticGroup group(ui::Role::radiogroup, "head-choice", "Heads");
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {cell_gap, cell_gap});
        ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {0, 0});
        const ImVec2 corner = ImGui::GetCursorScreenPos();
        for (HeadIndex head{0, 0}; head.layer < heads.layers.count; ++head.layer) {
            const float y = corner.y + static_cast<float>(head.layer) * (cell_side + cell_gap);
            const std::string layer = heads.layers.name(head.layer);
            ui::draw_text(ImGui::GetWindowDrawList(), {corner.x, y + (cell_side - ui::size_body) / 2},
                          ui::theme().dim, layer);
            for (head.head = 0; head.head < heads.heads; ++head.head) {
                const bool on = head == chosen;
                const std::string key =
                    "head-choice/" + std::to_string(head.layer) + "/" + std::to_string(head.head);
                ImGui::SetCursorScreenPos(
                    {corner.x + layer_width + static_cast<float>(head.head) * (cell_side + cell_gap), y});
                ImGui::PushID(key.c_str());
                ImGui::PushStyleColor(ImGuiCol_Button, on ? ui::theme().accent : ui::theme().raised);
                ImGui::PushStyleColor(ImGuiCol_Text, on ? ui::ink_on(ui::theme().accent) : ui::theme().text);
                if (ImGui::Button(std::to_string(head.head).c_str(), {cell_side, cell_side}) && !on)
                    parts::choose_head(drawing, head);
                ImGui::PopStyleColor(2);
                ImGui::PopID();
                ui::landmark_item(key);
                ui::semantic_item(ui::Role::radio, key, in_full(head, ", ")).on = on;
                if (ImGui::IsItemHovered()) ui::tooltip(in_full(head, " · ").c_str());
            }
        }
        ImGui::PopStyleVar(2);
    }
    ImGui::EndChild();
    // Below the heads, which stay in place when another one is chosen.
    if (const std::string told = head_told(); !told.empty()) ui::paragraph(told, ui::theme().dim, told_width);
    subject.draw_head(drawing);
}

}  // namespace attn::app
