#include "widgets/page_field.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <utility>

#include "widgets/theme.hpp"

namespace attn::ui {

namespace {

constexpr int frames_kept =
    4;  // frames that typed text waits for its field, such as one still being laid out

struct TypedThere {
    std::string key;
    PageTyped typed;
    int frames = 0;
};

std::vector<PageField> laid;
std::vector<TypedThere> typed_there;

bool covered_by_popup() {
    const bool in_popup =
        (ImGui::GetCurrentWindow()->RootWindow->Flags & ImGuiWindowFlags_Popup) != ImGuiWindowFlags_None;
    return !in_popup && ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
}

}  // namespace

float width_for_number(const std::string& number) {
    // The page's own field has larger digits, its padding, a border and a caret (shell/style.css).
    constexpr float page_size = 16, page_padding = 16;
    if (!by_touch()) return text_size(number).x + 2 * ImGui::GetStyle().FramePadding.x + 2;
    const Type mono(Face::mono, page_size);
    return text_size(number).x + page_padding;
}

std::optional<PageTyped> page_field(PageField field) {
    if (!by_touch()) return std::nullopt;
    field.min = ImGui::GetItemRectMin();
    field.max = ImGui::GetItemRectMax();
    const std::string key = field.key;
    if (ImGui::GetCurrentWindow()->ClipRect.Contains(ImRect(field.min, field.max)) && !covered_by_popup())
        laid.push_back(std::move(field));
    const auto found = std::ranges::find(typed_there, key, &TypedThere::key);
    if (found == typed_there.end()) return std::nullopt;
    PageTyped typed = std::move(found->typed);
    typed_there.erase(found);
    return typed;
}

void clear_page_fields() {
    laid.clear();
    std::erase_if(typed_there, [](TypedThere& each) { return ++each.frames > frames_kept; });
}

const std::vector<PageField>& page_fields() { return laid; }

void page_typed(const std::string& key, const std::string& text, bool entered) {
    auto found = std::ranges::find(typed_there, key, &TypedThere::key);
    if (found == typed_there.end()) found = typed_there.insert(typed_there.end(), {key, {}, 0});
    found->typed = {text, found->typed.entered || entered};
}

}  // namespace attn::ui
