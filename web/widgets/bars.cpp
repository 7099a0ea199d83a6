#include "widgets/bars.hpp"

#include <algorithm>

#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

constexpr float bar_height = 15, least_name = 24, least_number = 76, bar_gap = 10;

// Fingers need more room than a mouse.
float line_height() { return by_touch() ? 34 : 22; }

}  // namespace

float bar_list_height(Index bars) { return static_cast<float>(bars) * line_height(); }

std::optional<Index> bar_list(const std::string& name, const std::string& title, float width,
                              std::span<const Bar> bars, float most, const ColourScale& scale,
                              float most_name) {
    Type mono(Face::mono, size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    float name_width = least_name, number_room = least_number;
    for (const Bar& bar : bars) {
        name_width = std::max(name_width, std::min(text_size(bar.name).x, most_name));
        number_room = std::max(number_room, text_size(bar.number).x);
    }
    const float room = std::max(width - name_width - number_room - 2 * bar_gap, 20.0f);
    std::optional<Index> hovered;
    const SemanticGroup group(Role::listbox, name, title);
    for (Index i = 0; i < std::ssize(bars); ++i) {
        const Bar& bar = bars[static_cast<std::size_t>(i)];
        const ImVec2 min{at.x, at.y + static_cast<float>(i) * line_height()},
            max{min.x + width, min.y + line_height()};
        const bool over = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(min, max);
        if (over) hovered = i;
        if (over || bar.lit) list->AddRectFilled(min, max, bar.lit ? theme().accent_soft : theme().raised, 4);
        const float text_y = min.y + (line_height() - ImGui::GetFontSize()) / 2;
        const ImU32 ink = bar.quiet ? theme().dim : theme().text;
        const float wide = std::min(text_size(bar.name).x, name_width);
        draw_text_within(list, {min.x + name_width - wide, text_y}, name_width, ink, bar.name);
        const float left = min.x + name_width + bar_gap, top = min.y + (line_height() - bar_height) / 2;
        const float share = most > 0 ? bar.value / most : 0;
        const bool two_sided = scale.diverging, negative = two_sided && share < 0;
        const float reach = two_sided ? room / 2 : room, zero = left + (two_sided ? reach : 0);
        const float size = negative ? -share : share;
        const float length = size > 0 ? std::min(size, 1.0f) * reach : 0;  // NaN has no length
        const float from = negative ? zero - std::max(length, 1.5f) : zero,
                    to = negative ? zero : zero + std::max(length, 1.5f);
        list->AddRectFilled({from, top}, {to, top + bar_height}, scale.colour(bar.value), 3);
        // The outline makes colours visible that are close to the page's background.
        if (length > 3) list->AddRect({from, top}, {to, top + bar_height}, theme().border, 3);
        draw_text(list, {(two_sided ? left + room : to) + bar_gap, text_y}, ink, bar.number);
        const std::string key = name + "/" + std::to_string(i);
        landmark(key, min, max);
        semantic_place(Role::option, key, bar.name + " " + bar.number, min, max).on = bar.lit;
    }
    if (const auto asked = asked_place(name + "/"); asked && asked->col < std::ssize(bars))
        hovered = asked->col;
    ImGui::Dummy({width, bar_list_height(std::ssize(bars))});
    return hovered;
}

void bar_tooltip(Index bar, const char* text) {
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    const float top = min.y + static_cast<float>(bar) * line_height();
    tooltip_at({min.x, top}, {max.x, top + line_height()}, text);
}

}  // namespace attn::ui
