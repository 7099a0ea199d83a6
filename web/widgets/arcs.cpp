#include "widgets/arcs.hpp"

#include <cmath>

namespace attn::ui {

float arc_height(float span) {
    const float most = arc_most_height - 10;
    return 10 + most * (1 - std::exp(-span / (2.6f * most)));
}

void draw_arc(ImDrawList* list, float from, float to, float y, float thickness, ImU32 colour) {
    if (from == to) {
        list->AddEllipse({from, y - 7}, {5, 6}, colour, 0, 0, 1 + thickness / 4);
        return;
    }
    // The top of a cubic lies at three quarters of its handles.
    const float handle = arc_height(std::abs(to - from)) * 4 / 3;
    list->AddBezierCubic({from, y}, {from, y - handle}, {to, y - handle}, {to, y}, colour, thickness);
}

}  // namespace attn::ui
