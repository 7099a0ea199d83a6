// Draws the texts between controls: headings, hints, captions, badges and tooltips.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"
#include "widgets/wording.hpp"

namespace attn::ui {

void wrapped_text(std::string_view text, float most_width, Role role) {
    ImGui::PushTextWrapPos(0);
    const std::string worded = for_pointer(text);
    text_item(wrapped(worded, std::min(ImGui::GetContentRegionAvail().x, most_width)));
    ImGui::PopTextWrapPos();
    semantic_text(role, worded);
}

void heading(const char* text) {
    Type type(Face::semibold, size_heading);
    wrapped_text(text, FLT_MAX, Role::heading);
}

Folded& folded() {
    static Folded of_page;
    return of_page;
}

namespace {

// Returns the length of the sentences that fit on one line; of the first, if none does.
std::size_t sentences_on_line(std::string_view text, float width) {
    std::size_t end = std::string_view::npos;
    for (std::size_t at = 0; (at = text.find(". ", at)) != std::string_view::npos; ++at)
        if (end == std::string_view::npos || text_size(text.substr(0, at + 1)).x <= width) end = at + 1;
    return end == std::string_view::npos || text_size(text).x <= width ? text.size() : end;
}

}  // namespace

void hint(const char* text) {
    if (narrow_window()) {
        folded().hint = text;
        return;
    }
    const std::string whole = for_pointer(text);
    std::size_t end = 0;
    {
        const Type type(Face::regular, size_small);
        end = sentences_on_line(whole, ImGui::GetContentRegionAvail().x);
    }
    if (end < whole.size()) folded().hint = whole.substr(end + 1);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, head_gap});
    caption(whole.substr(0, end).c_str());
    ImGui::PopStyleVar();
}

bool settings() {
    folded().offered = true;
    return folded().open || !narrow_window();
}

void caption(const char* text) {
    Type type(Face::regular, size_small);
    ImGui::PushStyleColor(ImGuiCol_Text, theme().dim);
    wrapped_text(text);
    ImGui::PopStyleColor();
}

void paragraph(const std::string& text, ImU32 colour, float most_width) {
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    wrapped_text(text, most_width);
    ImGui::PopStyleColor();
}

void list_item(const char* name, const char* what) {
    Type mono(Face::mono, size_small);
    text_item(name);
    semantic_text(Role::paragraph, name);
    ImGui::SameLine(ImGui::GetCursorStartPos().x +
                    std::min(ImGui::GetContentRegionAvail().x * 0.45f, 190.0f));
    caption(what);
}

void badge(const char* text, ImU32 fill, ImU32 ink) {
    Type type(Face::mono, 12);
    const ImVec2 size = text_size(text), at = ImGui::GetCursorScreenPos();
    const ImVec2 box{size.x + 16, size.y + 6};
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, {at.x + box.x, at.y + box.y}, fill, box.y / 2);
    draw_text(list, {at.x + 8, at.y + 3}, ink, text);
    ImGui::Dummy(box);
    semantic_text(Role::paragraph, text);
}

bool held() { return ImGui::IsItemActive() && ImGui::IsMouseDown(ImGuiMouseButton_Left); }

bool dragged() {
    const ImGuiIO& io = ImGui::GetIO();
    return io.MouseDragMaxDistanceSqr[0] >= io.MouseDragThreshold * io.MouseDragThreshold;
}

bool clicked() { return take_press() || (ImGui::IsMouseReleased(0) && !dragged()); }

void tooltip(const char* text) {
    describe(for_pointer(text).c_str());
    if (!ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    constexpr float tallest_control = 60;
    max.y - min.y > tallest_control ? tooltip_at_cursor(text) : tooltip_at(min, max, text);
}

void tooltip_at_cursor(const char* text) {
    constexpr float reach = 14;
    const ImVec2 at = ImGui::GetMousePos();
    tooltip_at({at.x - reach, at.y - reach}, {at.x + reach, at.y + reach}, text);
}

void tooltip_at(ImVec2 min, ImVec2 max, const char* text) {
    constexpr float gap = 6, widest = 310;
    Type face(Face::regular, size_body);
    const std::string lines = wrapped(for_pointer(text), widest);
    const ImVec2 inner = text_size(lines), size{inner.x + 2 * popup_padding.x, inner.y + 2 * popup_padding.y};
    const ImGuiViewport* view = ImGui::GetMainViewport();
    const ImVec2 end{view->Pos.x + view->Size.x, view->Pos.y + view->Size.y};
    const auto within = [](float at, float length, float from, float to) {
        return std::max(std::min(at, to - length), from);
    };
    // If the tooltip does not fit on one side, it goes to the other.
    const auto outside = [&](float from, float to, float length, float limit) {
        return to + gap + length <= limit ? to + gap : from - gap - length;
    };
    const ImVec2 at{within(min.x, size.x, view->Pos.x, end.x), outside(min.y, max.y, size.y, end.y)};
    ImGui::SetNextWindowPos(at);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, popup_padding);
    if (ImGui::BeginTooltip()) {
        text_item(lines);
        ImGui::EndTooltip();
    }
    ImGui::PopStyleVar();
    landmark("tooltip", at, {at.x + size.x, at.y + size.y});
}

}  // namespace attn::ui
