#include "widgets/text_field.hpp"

#include <imgui.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/format.hpp"
#include "text/utf8.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

namespace {

// The field's buffer. A text that is too long leaves the previous text in place.
struct Buffer {
    std::string& text;
    std::string before;
    std::size_t longest;
    bool too_long = false;
};

// Takes what was typed in the page's field.
void take_from_page(Typed& typed, std::optional<PageTyped> there, std::string& text, std::size_t longest) {
    if (!there) return;
    typed.too_long = there->text.size() > longest;
    typed.changed = !typed.too_long && there->text != text;
    if (typed.changed) text = std::move(there->text);
    if (!typed.too_long) typed.caret = std::min(there->caret, text.size());
    typed.entered = typed.entered || there->entered;
}

int keep_text(ImGuiInputTextCallbackData* data) {
    auto& buffer = *static_cast<Buffer*>(data->UserData);
    if (data->EventFlag == ImGuiInputTextFlags_CallbackResize) {
        buffer.text.resize(static_cast<std::size_t>(data->BufTextLen));
        data->Buf = buffer.text.data();
    } else if (data->BufTextLen > static_cast<int>(buffer.longest)) {
        buffer.too_long = true;
        data->DeleteChars(0, data->BufTextLen);
        data->InsertChars(0, buffer.before.c_str());
    }
    return 0;
}

void draw_ground(ImVec2 at, ImVec2 size) {
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y},
                                              ImGui::GetColorU32(ImGuiCol_FrameBg),
                                              ImGui::GetStyle().FrameRounding);
}

// Shows the beginning of the text where the page lays no field, as below an open palette.
void draw_beginning(ImVec2 at, ImVec2 size, const std::string& text) {
    const ImVec2 pad = ImGui::GetStyle().FramePadding;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->PushClipRect(at, {at.x + size.x, at.y + size.y}, true);
    draw_text(list, {at.x + pad.x, at.y + pad.y}, theme().text,
              wrapped(first_code_points(text, 4000), size.x - 2 * pad.x));
    list->PopClipRect();
}

}  // namespace

Typed text_field(const char* name, const char* meaning, std::string& text, std::size_t longest,
                 float most_width) {
    Buffer buffer{text, text, longest};
    Typed typed;
    {
        const Type mono(Face::mono, size_body);
        ImGui::PushID(name);
        constexpr ImGuiInputTextFlags flags =
            ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackEdit;
        ImGui::SetNextItemWidth(std::min(ImGui::GetContentRegionAvail().x, most_width));
        typed.changed =
            ImGui::InputText("##text", text.data(), text.capacity() + 1, flags, keep_text, &buffer);
        ImGui::PopID();
    }
    typed.entered = ImGui::IsItemDeactivated() && (ImGui::IsKeyPressed(ImGuiKey_Enter, false) ||
                                                   ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false));
    typed.too_long = buffer.too_long;
    landmark_item(name);
    take_from_page(typed, page_field({.key = name, .name = meaning, .text = text}), text, longest);
    semantic_field(Role::textbox, name, meaning, text);
    return typed;
}

Typed text_area(const char* name, const char* meaning, std::string& text, std::size_t longest,
                float most_width, int lines, std::optional<TextRange> select) {
    const Type mono(Face::mono, size_body);
    const ImVec2 at = ImGui::GetCursorScreenPos(),
                 size{std::min(ImGui::GetContentRegionAvail().x, most_width),
                      ImGui::GetTextLineHeight() * static_cast<float>(lines) +
                          2 * ImGui::GetStyle().FramePadding.y};
    ImGui::Dummy(size);
    draw_ground(at, size);
    landmark_item(name);
    Typed typed;
    take_from_page(typed,
                   page_field({.key = name, .name = meaning, .text = text, .lines = true, .select = select}),
                   text, longest);
    if (std::ranges::find(page_fields(), name, &PageField::key) == page_fields().end())
        draw_beginning(at, size, text);
    semantic_place(Role::textbox, name, meaning, at, {at.x + size.x, at.y + size.y}).lines = true;
    return typed;
}

std::optional<double> number_field(const char* name, const char* meaning, double shown, const char* format,
                                   float width) {
    char written[32];
    std::snprintf(written, sizeof written, format, shown);
    ImGui::SetNextItemWidth(std::max(width, width_for_number(written)));
    ImGui::PushID(name);
    double typed = shown;
    ImGui::InputDouble("##number", &typed, 0, 0, format);
    ImGui::PopID();
    const bool entered = ImGui::IsItemDeactivatedAfterEdit() && !ImGui::IsKeyPressed(ImGuiKey_Escape);
    landmark_item(name);
    std::snprintf(written, sizeof written, format, typed);
    const auto there = page_field({.key = name, .name = meaning, .text = written, .number = true});
    semantic_field(Role::textbox, name, meaning, written);
    if (entered) return typed;
    return there && there->entered ? app::read_typed_number(there->text) : std::nullopt;
}

void fault(const char* name, const std::string& sentence) {
    if (sentence.empty()) return;
    ImGui::PushStyleColor(ImGuiCol_Text, theme().error);
    wrapped_text(sentence);
    ImGui::PopStyleColor();
    landmark_item(name);
}

}  // namespace attn::ui
