#include "widgets/typing.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <cstring>
#include <utility>

namespace attn::ui {

namespace {

int put_caret(ImGuiInputTextCallbackData* data) {
    auto& caret_to_end = *static_cast<bool*>(data->UserData);
    if (std::exchange(caret_to_end, false)) {
        data->ClearSelection();
        data->CursorPos = data->BufTextLen;
    }
    return 0;
}

}  // namespace

Typing::Typing(std::string_view text) { text.copy(text_.data(), text_.size() - 1); }

void Typing::gather() {
    if (active_) return;
    std::size_t length = std::strlen(text_.data());
    for (const ImWchar c : ImGui::GetIO().InputQueueCharacters) {
        if (c < ' ' || c == 0x7f || ImGui::GetIO().KeyCtrl) continue;
        char utf8[5];
        ImTextCharToUtf8(utf8, c);
        const std::size_t bytes = std::strlen(utf8);
        if (length + bytes >= text_.size()) break;
        std::memcpy(text_.data() + length, utf8, bytes + 1);
        length += bytes;
        caret_to_end_ = true;
    }
    entered_ |= ImGui::IsKeyPressed(ImGuiKey_Enter) && length > 0;
}

void Typing::draw(const char* id, const char* hint) {
    const bool first = std::exchange(focus_, false);
    if (first) ImGui::SetKeyboardFocusHere();
    entered_ |= ImGui::InputTextWithHint(
        id, hint, text_.data(), text_.size(),
        ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackAlways, put_caret, &caret_to_end_);
    left_ = !first && ImGui::IsItemDeactivated();
    active_ = ImGui::IsItemActive();
}

}  // namespace attn::ui
