// Draws a step's questions, and the list of lessons.
#include <imgui.h>

#include <algorithm>

#include "learn/panel.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::learn {

namespace {

// Draws a choice of a question across the width that is left. Returns whether it was pressed.
bool choice_row(const std::string& key, const std::string& text, bool on) {
    constexpr float ring = 7, before = 26, inset = 6;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const std::string lines = ui::wrapped(text, width - before - inset);
    const float least = ui::by_touch() ? ui::finger_size : 0;
    const float height = std::max(ui::text_size(lines).y + 2 * inset, least);
    const bool pressed = ImGui::InvisibleButton(key.c_str(), {width, height}, ImGuiButtonFlags_EnableNav);
    const bool lit = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    ui::landmark_item(key);
    ui::semantic_item(ui::Role::radio, key, text).on = on;
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (on || lit) list->AddRectFilled(at, {at.x + width, at.y + height}, on ? t.accent_soft : t.raised, 6);
    const ImVec2 middle{at.x + 13, at.y + height / 2};
    list->AddCircle(middle, ring, on ? t.accent : t.dim, 0, 1.5f);
    if (on) list->AddCircleFilled(middle, ring - 3, t.accent);
    ui::draw_text(list, {at.x + before, at.y + (height - ui::text_size(lines).y) / 2}, t.text, lines);
    return pressed;
}

}  // namespace

void LessonPanel::draw_ask(const lesson::Step& step, std::size_t number) {
    const lesson::Ask& ask = step.asks[number];
    const std::string key = "lesson/ask/" + std::to_string(number);
    const std::optional<AnswerNow>& given = run_.progress(visit_).answers[number];
    draw_text(ask.question);
    if (!ask.choices.empty()) {
        const ui::SemanticGroup group(ui::Role::radiogroup, key, ask.question);
        ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {8, 3});
        for (std::size_t i = 0; i < ask.choices.size(); ++i)
            if (choice_row(key + "/" + std::to_string(i), ask.choices[i], given && given->choice == i))
                run_.answer(visit_, number, ask.choices[i], i);
        ImGui::PopStyleVar();
    }
    if (ask.choices.empty()) {
        std::string& typed = typed_[number];
        constexpr std::size_t longest = 30;
        constexpr float field_width = 110;
        ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 1);
        const ui::Typed field =
            ui::text_field((key + "/number").c_str(), ask.question.c_str(), typed, longest, field_width);
        ImGui::PopStyleVar();
        // After Enter the keyboard stays in the field, so that another answer can be typed at once.
        if (field.entered) ImGui::SetKeyboardFocusHere(-1);
        ImGui::SameLine(0, 8);
        const bool answered = ui::button((key + "/answer").c_str(), "Answer", !typed.empty());
        if (answered || (field.entered && !typed.empty())) run_.answer(visit_, number, typed, std::nullopt);
    }
    if (!given) return;
    const std::string said = !given->missing.empty() ? given->missing
                             : given->is_right       ? "Right."
                                                     : "Not so. Look again at the numbers.";
    ImGui::PushStyleColor(ImGuiCol_Text, given->is_right ? ui::theme().accent : ui::theme().error);
    ui::wrapped_text(said, FLT_MAX, ui::Role::status);
    ImGui::PopStyleColor();
    ui::landmark_item(key + "/said");
}

void LessonPanel::draw_asks(const lesson::Step& step) {
    for (std::size_t i = 0; i < step.asks.size(); ++i) {
        ImGui::Dummy({0, 2});
        draw_ask(step, i);
    }
}

// Offers the open lesson in its other languages.
void LessonPanel::draw_languages() {
    const std::string name = lesson_of(visit_.state()).name;  // a copy, because a press opens another
    const std::string whole = name.substr(0, name.find('.'));
    const LessonEntry* entry = library_.find(whole);
    if (entry == nullptr || entry->languages.empty()) return;
    const auto offer = [&](const std::string& language, const std::string& lesson) {
        const std::string key = "lesson/language/" + language;
        if (ui::toggle(key.c_str(), language.c_str(), name == lesson) && name != lesson) open(lesson);
    };
    offer("en", whole);
    for (const std::string& language : entry->languages) {
        ImGui::SameLine(0, 4);
        offer(language, whole + "." + language);
    }
}

void LessonPanel::draw_list() {
    ui::heading("Lessons");
    ui::caption(
        "Each lesson checks itself with the numbers of this page. Your place is kept on this machine.");
    if (ui::button("lesson/write", "Write a lesson")) return write();
    ImGui::SameLine(0, 8);
    if (ui::button("lesson/list/close", "Close")) lists_ = false;
    ImGui::Dummy({0, 4});
    std::string chosen;
    for (const LessonEntry& each : library_.lessons()) {
        const auto kept = run_.kept().find(each.name);
        const bool started = kept != run_.kept().end();
        std::string detail = each.minutes > 0 ? std::to_string(each.minutes) + " min" : "";
        if (const std::string needs = needs_told(each.needs); !needs.empty())
            detail += (detail.empty() ? "" : " · ") + needs;
        if (started)
            detail +=
                (detail.empty() ? "" : " · ") +
                std::string(kept->second.done ? "done" : "step " + std::to_string(kept->second.step + 1));
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float width = ImGui::GetContentRegionAvail().x;
        const std::string title = ui::wrapped(each.title, width);
        const float title_height = ui::text_size(title).y, height = title_height + 28;
        const std::string key = "lesson/list/" + each.name;
        if (ImGui::InvisibleButton(key.c_str(), {width, height}, ImGuiButtonFlags_EnableNav))
            chosen = each.name;
        const bool lit = ImGui::IsItemHovered() || ImGui::IsItemFocused();
        ui::landmark_item(key);
        ui::semantic_item(ui::Role::button, key, each.title + ", " + detail);
        ImDrawList* list = ImGui::GetWindowDrawList();
        if (lit)
            list->AddRectFilled({at.x - 8, at.y}, {at.x + width + 8, at.y + height}, ui::theme().raised, 6);
        ui::draw_text(list, {at.x, at.y + 4}, ui::theme().text, title);
        const ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text_within(
            list, {at.x, at.y + title_height + 8}, width,
            kept != run_.kept().end() && kept->second.done ? ui::theme().accent : ui::theme().dim, detail);
    }
    if (library_.lessons().empty()) ui::caption("This site has no lessons, or they have not arrived yet.");
    if (!chosen.empty()) open(chosen);
}

}  // namespace attn::app::learn
