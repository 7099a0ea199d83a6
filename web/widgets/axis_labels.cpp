#include "widgets/axis_labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "widgets/vector_picture.hpp"

namespace attn::ui {

namespace {

constexpr float slant = 1.0472f;                  // 60°
constexpr float label_pitch = 12, label_gap = 4;  // a label takes up at least this much of its axis

// Returns n such that every n-th name is shown, counting from the first. Intervals between positions are
// round numbers.
Index names_apart(const AxisLabels& labels, float pitch) {
    const std::size_t last = labels.names.size() - 1;
    if (!labels.names.empty() && labels.names[last] == std::to_string(last))
        return round_step(labels.cell, pitch - 0.01f * labels.cell);
    return std::max<Index>(static_cast<Index>(std::ceil(pitch / labels.cell - 0.01f)), 1);
}
Index first_shown(const AxisLabels& labels, Index every) {
    return (labels.shown.begin + every - 1) / every * every;
}

// Measures only the unmarked names that are drawn, which are few.
float widest(const AxisLabels& labels) {
    const Index every = names_apart(labels, label_pitch);
    float width = 0;
    for (Index i = first_shown(labels, every); i < labels.shown.end; i += every)
        width = std::max(width, text_size(labels.names[static_cast<std::size_t>(i)]).x);
    return std::min(width, labels.most);
}

bool upright(float widest, float cell) { return widest + label_gap <= std::max(cell, label_pitch); }

// Returns the names that have room: marked names first, then the others at even intervals from the first one
// on.
std::vector<Index> placed(const AxisLabels& labels, float pitch) {
    std::vector<Index> chosen;
    const auto free = [&](Index i) {
        return std::ranges::all_of(chosen, [&](Index other) {
            return static_cast<float>(std::abs(i - other)) * labels.cell >= pitch - 0.01f;
        });
    };
    for (const std::optional<Index> marked : {labels.strong, labels.lit})
        if (marked && labels.shown.holds(*marked) && free(*marked)) chosen.push_back(*marked);
    const auto marked_count = chosen.size();
    const Index every = names_apart(labels, pitch);
    for (Index i = first_shown(labels, every); i < labels.shown.end; i += every) {
        const bool room = std::all_of(
            chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(marked_count), [&](Index other) {
                return static_cast<float>(std::abs(i - other)) * labels.cell >= pitch - 0.01f;
            });
        if (room) chosen.push_back(i);
    }
    return chosen;
}

ImU32 ink(const AxisLabels& labels, Index i) {
    return i == labels.strong ? theme().accent : i == labels.lit ? theme().text : theme().dim;
}

float centre(const AxisLabels& labels, Index i) {
    return labels.first + (static_cast<float>(i - labels.shown.begin) + 0.5f) * labels.cell;
}

}  // namespace

void draw_slanted_text(ImDrawList* list, ImVec2 at, float angle, float width, ImU32 colour,
                       std::string_view text) {
    // Draws the text where none of it is clipped away, then rotates it into place.
    const ImVec2 from{std::floor(list->GetClipRectMin().x) + 1, std::floor(list->GetClipRectMin().y) + 1};
    const float base = from.y + ImGui::GetFontSize() * 0.8f;
    const int first = list->VtxBuffer.Size;
    const std::string drawn = shortened(text, width);
    draw_text(list, from, colour, drawn);
    if (VectorPicture* picture = VectorPicture::of(list)) picture->rotate_last_text(at, angle);
    const float c = std::cos(angle), s = std::sin(angle);
    const ImVec2 mouse = ImGui::GetMousePos(), away{mouse.x - at.x, mouse.y - at.y};
    const float along = c * away.x + s * away.y, below = c * away.y - s * away.x;
    if (drawn != text && along >= 0 && along < width && below > from.y - base && below < 0)
        note_cut_text(text, {mouse.x - 8, mouse.y - 8}, {mouse.x + 8, mouse.y + 8});
    for (int i = first; i < list->VtxBuffer.Size; ++i) {
        ImVec2& p = list->VtxBuffer[i].pos;
        const float x = p.x - from.x, y = p.y - base;
        p = {at.x + c * x - s * y, at.y + s * x + c * y};
    }
}

Index round_step(float cell, float apart) {
    for (Index power = 1;; power *= 10)
        for (const Index factor : std::array<Index, 3>{1, 2, 5})
            if (static_cast<float>(factor * power) * cell >= apart) return factor * power;
}

float longest_name(std::span<const std::string> names, float enough) {
    Type type(Face::regular, size_small);
    float width = 0;
    for (const std::string& name : names) {
        width = std::max(width, text_size(name).x);
        if (width >= enough) break;
    }
    return width;
}

float column_labels_height(const AxisLabels& labels) {
    if (upright(labels.most, labels.cell)) return size_small + 6;
    return std::ceil(labels.most * std::sin(slant)) + 10;
}

float row_labels_width(const AxisLabels& labels) { return std::ceil(labels.most) + 6; }

void draw_column_labels(ImDrawList* list, const AxisLabels& labels, float bottom) {
    Type type(Face::regular, size_small);
    const float width = widest(labels);
    const bool straight = upright(width, labels.cell);
    const float pitch = straight ? std::max(width + label_gap, label_pitch) : label_pitch;
    for (const Index i : placed(labels, pitch)) {
        const std::string& name = labels.names[static_cast<std::size_t>(i)];
        if (straight)
            draw_text_within(
                list, {centre(labels, i) - std::min(text_size(name).x, width) / 2, bottom - size_small - 4},
                width, ink(labels, i), name);
        else
            draw_slanted_text(list, {centre(labels, i) + 3, bottom - 4}, -slant, labels.most, ink(labels, i),
                              name);
    }
}

void draw_row_labels(ImDrawList* list, const AxisLabels& labels, float right) {
    Type type(Face::regular, size_small);
    for (const Index i : placed(labels, label_pitch)) {
        const std::string& name = labels.names[static_cast<std::size_t>(i)];
        const float width = std::min(text_size(name).x, labels.most);
        draw_text_within(list, {right - 5 - width, centre(labels, i) - size_small / 2}, labels.most,
                         ink(labels, i), name);
    }
}

}  // namespace attn::ui
