// web/render without a canvas: what is drawn goes nowhere. Lenses are then tested natively, for what they lay out and what
// they do, as Dear ImGui works without a renderer too.
#include <string>

#include "render/fill.hpp"
#include "render/flow.hpp"
#include "render/heatmap.hpp"

namespace attn::render {

void fill(ImDrawList*, ImVec2, ImVec2, ImU32) {}

void draw(ImDrawList*, std::span<const FlowCurves>) {}
const std::string& flow_fault() {
    static const std::string none;
    return none;
}

void draw(ImDrawList*, std::span<const Heatmap>) {}
const std::string& heatmap_fault() {
    static const std::string none;
    return none;
}

}  // namespace attn::render
