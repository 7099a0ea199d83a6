#include "widgets/page_field.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <utility>

#include "widgets/controls.hpp"
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
std::string typed_in;  // the key of the field that is being typed in

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
    if (!by_touch() && !field.lines) return std::nullopt;
    const ImRect item(ImGui::GetItemRectMin(), ImGui::GetItemRectMax()),
        &view = ImGui::GetCurrentWindow()->ClipRect;
    ImRect shown = item;
    if (field.lines) shown.ClipWith(view);
    field.min = shown.Min;
    field.max = shown.Max;
    const std::string key = field.key;
    const float least_height = std::min(item.GetHeight(), 2 * ImGui::GetTextLineHeight());
    if (view.Contains(shown) && shown.GetHeight() >= least_height && !covered_by_popup())
        laid.push_back(std::move(field));
    const auto found = std::ranges::find(typed_there, key, &TypedThere::key);
    if (found == typed_there.end()) return std::nullopt;
    PageTyped typed = std::move(found->typed);
    typed_there.erase(found);
    return typed;
}

bool page_types() { return !typed_in.empty(); }

void clear_page_fields() {
    laid.clear();
    if (ImGui::IsAnyItemActive() || ImGui::IsMouseClicked(ImGuiMouseButton_Left)) typed_in.clear();
    std::erase_if(typed_there, [](TypedThere& each) { return ++each.frames > frames_kept; });
}

const std::vector<PageField>& page_fields() { return laid; }

void page_typed(const std::string& key, const std::string& text, bool entered, std::size_t caret) {
    auto found = std::ranges::find(typed_there, key, &TypedThere::key);
    if (found == typed_there.end()) found = typed_there.insert(typed_there.end(), {key, {}, 0});
    if (typed_in != key) next_gesture();
    typed_in = entered ? "" : key;
    found->typed = {text, found->typed.entered || entered, caret};
}

}  // namespace attn::ui
