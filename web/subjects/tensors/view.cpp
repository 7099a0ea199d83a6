// Draws the subject's own part of the page: what the tensors are, how Q and K become weights, which head is
// chosen, and what is odd about their numbers.
#include <algorithm>
#include <span>

#include "subjects/tensors/tensors.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

// Draws a control with its label on the left.
void group(auto&& draw) {
    ImGui::BeginGroup();
    draw();
    ImGui::EndGroup();
}

// Turns a note into a link to the place that it is about.
bool link_over(const std::string& landmark, ImVec2 min, ImVec2 max, const CellPlace& place,
               const TensorSet& set) {
    const ImVec2 after = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(min);
    const bool pressed =
        ImGui::InvisibleButton(landmark.c_str(), {max.x - min.x, max.y - min.y}, ImGuiButtonFlags_EnableNav);
    if (ImGui::IsItemHovered()) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        ImGui::GetWindowDrawList()->AddLine({min.x + 12, max.y}, max, ui::theme().accent);
    }
    const RunCell* cell = place.cell.run();
    std::string told = "Show row " + std::to_string(cell ? cell->row : place.cell.sum()->at);
    if (cell) told += ", column " + std::to_string(cell->col);
    if (set.heads() > 1) told += ", head " + std::to_string(place.head.head);
    if (set.layers() > 1) told += ", layer " + std::to_string(place.head.layer);
    ui::semantic_item(ui::Role::button, landmark, told);
    ui::tooltip(told.c_str());
    ImGui::SetCursorScreenPos(after);
    ImGui::Dummy({});
    return pressed;
}

}  // namespace

bool TensorsSubject::draw_controls(const Drawing&, bool brief) {
    draw_questions();
    draw_waiting();
    if (!open()) {
        draw_invitation();
        return false;
    }
    if (!ui::folded().subject) {
        ui::section(open()->title().c_str());
        ui::landmark_item("tensors/title");
        ui::caption(open()->summary().c_str());
    }
    const bool settings = ui::settings(), narrow = ui::narrow_window();
    if (!brief) {
        const ui::Row row("tensors/settings");
        draw_actions(settings);
        if (!open()) return false;  // it has just been closed
        if (settings && !open()->finished()) draw_rule();
    }
    if (settings && !ui::folded().head && open()->layers() * open()->heads() > 1) draw_head_choice();
    if (narrow) ImGui::Dummy({0, 4});
    return true;
}

bool TensorsSubject::draw_in_tabs(const Drawing&, bool, float width) {
    if (!open() || width < ui::menu_width) return false;
    const std::string& title = open()->title();
    ImGui::AlignTextToFramePadding();
    ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
    ui::text_item(ui::shortened(title, width));
    ImGui::PopStyleColor();
    ui::semantic_text(ui::Role::heading, title);
    ui::landmark_item("tensors/title");
    ui::tooltip((title + "\n" + open()->summary()).c_str());
    return true;
}

void TensorsSubject::draw_head(const Drawing&) { draw_head_choice(); }

void TensorsSubject::draw_actions(bool settings) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, 4}));
    bool closed = false;
    if (settings) {
        if (ui::button("tensors/choose", "Open others…")) visit().page().choose_tensors();
        if (!open()->answers().empty() && ui::next_control(ui::need::button)) {
            if (ui::button("tensors/again", "Ask again", !own_.opening())) own_.ask_again();
            ui::tooltip("Ask about these files again");
        }
        if (ui::next_control(ui::need::button)) {
            closed = ui::button("tensors/close", "Close");
            ui::tooltip("Close these files and free their memory");
        }
    }
    draw_work();
    ImGui::PopStyleVar();
    if (closed) close();
}

// Shows the progress, next to a button that pauses or resumes the work.
void TensorsSubject::draw_work() {
    TensorSet& set = *own_.open();
    if (set.done() || !ui::next_control(ui::need::choices)) return;
    group([&] {
        ImGui::AlignTextToFramePadding();
        const int percent = static_cast<int>(set.progress() * 100);
        const std::string text = std::string(set.doing()) + " " + std::to_string(percent) + " %";
        ui::text_item(text);
        ui::semantic_text(ui::Role::paragraph, text);
        ImGui::SameLine(0, 10);
        if (ui::button("tensors/stop", set.paused() ? "Continue" : "Stop", {"Continue", "Stop"}))
            set.pause(!set.paused());
    });
}

// Draws the choice of how Q and K become weights.
void TensorsSubject::draw_rule() {
    TensorRule rule = now().rule;
    const bool past = open()->keys() > open()->queries();
    if (ui::next_control(ui::need::choices)) {
        group([&] {
            ui::label("causal");
            if (const auto taken = ui::choice("tensors/causal", std::span(causal_names).first(past ? 3 : 2),
                                              static_cast<int>(rule.causal)))
                rule.causal = static_cast<TensorRule::Causal>(*taken);
        });
        if (past)
            ui::tooltip(
                "yes: the first query belongs to the first key. With a past: the last query to the last "
                "key.");
    }
    if (ui::next_control(ui::need::choices))
        group([&] {
            ui::label("scale");
            if (const auto taken = ui::choice("tensors/scale", scale_names, rule.scale_by_sqrt_d ? 0 : 1))
                rule.scale_by_sqrt_d = *taken == 0;
        });
    if (ui::narrow_window()) ImGui::Dummy({0, 4});
    if (rule != now().rule) visit().perform(SetTensorRule{rule});
}

void TensorsSubject::draw_head_choice() {
    Selection selection = state().selection;
    const auto step = [](const char* name, const char* label, Index& value, Index count) {
        group([&] { value = ui::stepper(name, label, value, 0, count - 1).value_or(value); });
    };
    const TensorSet& set = *open();
    if (set.layers() > 1) {
        step("tensors/layer", "layer", selection.layer, set.layers());
        ui::next_control(ui::need::stepper);
    }
    if (set.heads() > 1) step("tensors/head", "head", selection.head, set.heads());
    if (selection != state().selection) visit().perform(Select{selection}, ui::gesture());
}

void TensorsSubject::draw_beside(const Drawing&, float width) {
    if (!open()) return;
    const std::vector<TensorSet::Remark> remarks = open()->remarks();
    if (remarks.empty()) return;
    constexpr float indent = 12;
    ImGui::Dummy({0, 4});
    ui::section("Notes on these files");
    for (std::size_t i = 0; i < remarks.size(); ++i) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::Indent(indent);
        ui::Type small(ui::Face::regular, ui::size_small);
        const auto& [sentence, place] = remarks[i];
        ui::paragraph(sentence, place ? ui::theme().accent : ui::theme().dim, width - indent);
        ImGui::Unindent(indent);
        const std::string landmark = "remark/" + std::to_string(i);
        ui::landmark_item(landmark);
        const ImVec2 end = ImGui::GetItemRectMax();
        ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + 3, end.y}, ui::theme().changed, 2);
        if (place && link_over(landmark, at, {at.x + width, end.y}, *place, *open())) show(*place);
    }
}

void TensorsSubject::show(const CellPlace& place) {
    Selection selection{.layer = place.head.layer, .head = place.head.head, .query = {}, .key = {}};
    if (const MapSum* sum = place.cell.sum()) selection.query = sum->at;
    if (const RunCell* cell = place.cell.run()) {
        const bool of_key = cell->stage == Stage::k || cell->stage == Stage::v;
        (of_key ? selection.key : selection.query) = cell->row;
        if (cell->stage == Stage::weight) selection.key = cell->col;
    }
    visit().perform(Select{selection}, ui::gesture());
    visit().perform(Pin{place.cell}, ui::gesture());
}

}  // namespace attn::app
