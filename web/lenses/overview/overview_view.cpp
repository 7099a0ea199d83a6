#include <algorithm>
#include <cmath>

#include "lenses/overview/overview.hpp"
#include "parts/heads_part.hpp"
#include "present/card.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float least_window = 480, left_share = 0.46f;
// Fractions of the window's height.
constexpr float flow_share = 0.6f, nameless_flow_share = 0.45f, heads_share = 0.55f, map_share = 0.7f,
                single_map_share = 0.78f;

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
    // A part may choose a head of another text, which the following parts show.
    const auto shown = [&]() -> Attention& { return *subject.attention(); };
    // The flow and the map have menus of their own.
    {
        const present::Card card(drawing, {.key = "flow", .title = ""}, width);
        seen.flow.draw(drawing, attention, card.width(),
                       window * (attention.has_tokens() ? flow_share : nameless_flow_share));
    }
    const auto draw_map = [&](float room, float most_height) {
        const present::Card card(drawing, {.key = "map", .title = ""}, room);
        seen.map.draw(drawing, shown(), card.width(), most_height);
    };
    if (!several || width < ui::two_columns) {
        draw_map(width, several ? 1e6f : window * single_map_share);
        if (several) parts::draw_heads(drawing, shown(), width, window * map_share);
        seen.score.draw(drawing, shown(), width);
        return subject.draw_beside(drawing, width);
    }
    const float left = std::floor((width - present::card_gap) * left_share);
    ui::column("left", left, [&](float w) {
        parts::draw_heads(drawing, shown(), w, window * heads_share);
        subject.draw_beside(drawing, w);
    });
    ImGui::SameLine(0, present::card_gap);
    ui::column("right", width - left - present::card_gap, [&](float w) {
        draw_map(w, window * map_share);
        seen.score.draw(drawing, shown(), w);
    });
}

}  // namespace attn::app
