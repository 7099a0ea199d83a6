// Implements web/render without a canvas: flows are not drawn, and a heatmap is one rectangle per cell as
// long as they are few. Lenses can then be tested natively for their layout and behaviour, because Dear ImGui
// works without a renderer, too.
#include <cmath>
#include <string>

#include "render/fill.hpp"
#include "render/flow.hpp"
#include "render/heatmap.hpp"

namespace attn::render {

void fill(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 colour) { list->AddRectFilled(min, max, colour); }

void draw(ImDrawList*, std::span<const FlowCurves>) {}
const std::string& flow_fault() {
    static const std::string none;
    return none;
}

void draw(ImDrawList* list, std::span<const Heatmap> heatmaps) {
    constexpr Index most_cells = 4096;
    for (const Heatmap& h : heatmaps) {
        if (h.tile_columns != 0 || h.rows * h.cols > most_cells) continue;
        list->PushClipRect(h.min, h.max, true);
        for (Index i = 0; i < h.rows * h.cols; ++i) {
            const float value = h.values[i];
            if (std::isinf(value) && value > 0) continue;
            const ImVec2 at{h.origin.x + static_cast<float>(i % h.cols) * h.cell.x,
                            h.origin.y + static_cast<float>(i / h.cols) * h.cell.y};
            const float place = std::round(h.scale.coloured(value) * 255);
            const ImU32 colour = std::isnan(value)   ? h.nan
                                 : std::isinf(value) ? h.masked
                                                     : h.palette->colours[static_cast<std::size_t>(place)];
            list->AddRectFilled(at, {at.x + h.cell.x, at.y + h.cell.y}, colour);
        }
        list->PopClipRect();
    }
}
const std::string& heatmap_fault() {
    static const std::string none;
    return none;
}

}  // namespace attn::render
