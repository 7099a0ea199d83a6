#include <algorithm>
#include <cmath>

#include "lenses/overview/overview.hpp"
#include "parts/heads_part.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float least_window = 480, left_share = 0.46f;
// These are fractions of the window's height.
constexpr float flow_share = 0.6f, nameless_flow_share = 0.45f, heads_share = 0.55f, map_share = 0.7f,
                single_map_share = 0.78f;

void space() { ImGui::Dummy({0, 8}); }

}  // namespace

void Overview::draw(const Drawing& drawing, Subject& subject) {
    Attention& attention = *subject.attention();
    Seen& seen = seen_[drawing.state().subject];
    if (seen.origin != attention.origin()) {
        seen.map.forget();
        seen.flow.forget();
        seen.origin = attention.origin();
    }
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), least_window);
    const bool several = attention.layers() * attention.heads() > 1;
    // A part may choose a head of other texts, which the parts after it show.
    const auto shown = [&]() -> Attention& { return *subject.attention(); };
    seen.flow.draw(drawing, attention, width,
                   window * (attention.has_tokens() ? flow_share : nameless_flow_share));
    space();
    if (!several || width < ui::two_columns) {
        seen.map.draw(drawing, shown(), width, several ? 1e6f : window * single_map_share);
        space();
        if (several) {
            parts::draw_heads(drawing, shown(), width, window * map_share);
            space();
        }
        seen.score.draw(drawing, shown(), width);
        space();
        return subject.draw_beside(drawing, width);
    }
    const float left = std::floor((width - ui::column_gap) * left_share);
    ui::column("left", left, [&](float w) {
        parts::draw_heads(drawing, shown(), w, window * heads_share);
        space();
        subject.draw_beside(drawing, w);
    });
    ImGui::SameLine(0, ui::column_gap);
    ui::column("right", width - left - ui::column_gap, [&](float w) {
        seen.map.draw(drawing, shown(), w, window * map_share);
        space();
        seen.score.draw(drawing, shown(), w);
    });
}

}  // namespace attn::app
