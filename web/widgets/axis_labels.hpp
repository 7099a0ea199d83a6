// Names along an axis of a map: upright where they fit, slanted where they do not, fewer where they would overlap.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/tensor.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

// Turned by `angle` (radians, clockwise) around the left end of its base line, shortened to `width`.
void draw_slanted_text(ImDrawList* list, ImVec2 at, float angle, float width, ImU32 colour,
                       std::string_view text);

struct AxisLabels {
    std::span<const std::string> names;
    Range shown;      // of the names
    float first = 0;  // where the cell of shown.begin begins, along the axis
    float cell = 0;   // points a cell, along the axis
    float most = 0;   // length that a name may have, and the longest of them has
    // These come first, in the colour of text; `strong` in the accent colour.
    std::optional<Index> strong, lit;
};

float longest_name(std::span<const std::string> names);
// How far the names reach from the axis.
float column_labels_height(const AxisLabels& labels);
float row_labels_width(const AxisLabels& labels);
void draw_column_labels(ImDrawList* list, const AxisLabels& labels, float bottom);  // above `bottom`
void draw_row_labels(ImDrawList* list, const AxisLabels& labels, float right);      // left of `right`

}  // namespace attn::ui
