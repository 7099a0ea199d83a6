// Draws names along an axis of a map: upright if they fit, slanted if they do not, and fewer if they would
// overlap.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/tensor.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

// Draws text rotated by `angle` (radians, clockwise) about the left end of its baseline, truncated to
// `width`.
void draw_slanted_text(ImDrawList* list, ImVec2 at, float angle, float width, ImU32 colour,
                       std::string_view text);

struct AxisLabels {
    std::span<const std::string> names;
    Range shown;      // the names in view
    float first = 0;  // position along the axis where the cell of shown.begin begins
    float cell = 0;   // points per cell, along the axis
    float most = 0;   // limit on the length of names, and the length of the longest
    // Drawn first: `lit` in the text colour, `strong` in the accent colour.
    std::optional<Index> strong{}, lit{};
};

// Returns 1, 2 or 5 times a power of ten: the smallest number of cells that takes up `apart` points.
Index round_step(float cell, float apart);
// Returns the length of the longest name, but stops at a name of at least `enough`: the names may be a whole
// vocabulary.
float longest_name(std::span<const std::string> names, float enough);
// Returns how far the names extend from the axis.
float column_labels_height(const AxisLabels& labels);
float row_labels_width(const AxisLabels& labels);
void draw_column_labels(ImDrawList* list, const AxisLabels& labels, float bottom);  // above `bottom`
void draw_row_labels(ImDrawList* list, const AxisLabels& labels, float right);      // left of `right`

}  // namespace attn::ui
