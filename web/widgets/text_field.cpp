#include "widgets/text_field.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cstdio>

#include "app/format.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

// The field's buffer. A text that is too long leaves the previous text in place.
struct Buffer {
    std::string& text;
    std::string before;
    std::size_t longest;
    bool too_long = false;
};

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

Typed typed_into(const char* name, const char* meaning, std::string& text, std::size_t longest,
                 float most_width, int lines) {
    const float width = std::min(ImGui::GetContentRegionAvail().x, most_width);
    Buffer buffer{text, text, longest};
    Typed typed;
    {
        Type mono(Face::mono, size_body);
        ImGui::PushID(name);
        constexpr ImGuiInputTextFlags flags =
            ImGuiInputTextFlags_CallbackResize | ImGuiInputTextFlags_CallbackEdit;
        ImGui::SetNextItemWidth(width);
        typed.changed =
            lines == 1
                ? ImGui::InputText("##text", text.data(), text.capacity() + 1, flags, keep_text, &buffer)
                : ImGui::InputTextMultiline("##text", text.data(), text.capacity() + 1,
                                            {width, ImGui::GetTextLineHeight() * static_cast<float>(lines) +
                                                        2 * ImGui::GetStyle().FramePadding.y},
                                            flags, keep_text, &buffer);
        if (const ImGuiInputTextState* state = ImGui::GetInputTextState(ImGui::GetID("##text")))
            typed.caret = std::min(static_cast<std::size_t>(std::max(state->GetCursorPos(), 0)), text.size());
        ImGui::PopID();
    }
    typed.entered =
        lines == 1 && ImGui::IsItemDeactivated() &&
        (ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false));
    typed.too_long = buffer.too_long;
    landmark_item(name);
    if (auto there = page_field({.key = name, .name = meaning, .text = text, .lines = lines > 1})) {
        typed.too_long = there->text.size() > longest;
        typed.changed = !typed.too_long && there->text != text;
        if (typed.changed) text = std::move(there->text);
        typed.entered = typed.entered || (there->entered && lines == 1);
    }
    semantic_field(Role::textbox, name, meaning, text);
    return typed;
}

}  // namespace

Typed text_field(const char* name, const char* meaning, std::string& text, std::size_t longest,
                 float most_width) {
    return typed_into(name, meaning, text, longest, most_width, 1);
}

Typed text_area(const char* name, const char* meaning, std::string& text, std::size_t longest,
                float most_width, int lines) {
    return typed_into(name, meaning, text, longest, most_width, lines);
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
