// Declares what the files that draw lens Circuits share.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "lenses/circuits/circuits.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app::circuits {

inline constexpr float least_column = 330, below_text = 4;

inline void set(const Drawing& drawing, const State& wanted, std::uint64_t gesture = ui::gesture()) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, gesture);
}

// Draws bars of which the longest has the largest magnitude.
inline present::BarReply draw_bars(const Drawing& drawing, present::Bars bars, bool is_signed, float width) {
    bars.most = 0;
    for (const ui::Bar& each : bars.bars) bars.most = std::max(bars.most, std::abs(each.value));
    bars.scale = is_signed ? ui::diverging_scale(bars.most) : ui::sequential_scale(bars.most);
    bars.most_name = 130;
    return present::bars(drawing, bars, width);
}

void draw_eigenvalues(const Drawing& drawing, const Copying& copying, bool of_virtual, float width);
void draw_wiring(Model& model, const Drawing& drawing, Subject& subject);
void draw_plane(const Model& model, const Drawing& drawing, Subject& subject);
void draw_corpus_plane(const Model& model, const Drawing& drawing, Subject& subject);
void draw_plane_controls(const Drawing& drawing, Subject& subject);

inline ImU32 query_colour() { return ui::series_colour(0); }
inline ImU32 key_colour() { return ui::series_colour(1); }

// A square of points at the cursor, which they advance.
struct Scatter {
    const QueryKeyPlane& plane;
    ImVec2 at;
    float side;
    QueryKeyPlane::Place low{HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL};
    std::optional<QueryKeyPlane::End> over;  // the point under the cursor, at most `reach` away
    bool clicked;

    Scatter(const QueryKeyPlane& shown, const char* landmark, float width, float reach)
        : plane(shown), at(ImGui::GetCursorScreenPos()), side(std::min(width, 560.0f)) {
        for (const auto* places : {&plane.queries, &plane.keys})
            for (const QueryKeyPlane::Place& place : *places)
                for (std::size_t axis = 0; axis < 2; ++axis) {
                    low[axis] = std::min(low[axis], place[axis]);
                    high[axis] = std::max(high[axis], place[axis]);
                }
        ImGui::InvisibleButton(landmark, {side, side});
        ui::landmark_item(landmark);
        clicked = ImGui::IsItemDeactivated() && !ui::dragged();
        if (ImGui::IsItemHovered()) over = under_cursor(reach);
    }
    // Both axes have the same scale, so that the plane is not distorted.
    ImVec2 point(const QueryKeyPlane::End& end) const {
        constexpr float inset = 26;
        const QueryKeyPlane::Place& place = plane.at(end);
        const double span = std::max({high[0] - low[0], high[1] - low[1], 1e-12});
        const auto along = [&](std::size_t axis) {
            return static_cast<float>((place[axis] - (low[axis] + high[axis]) / 2) / span) *
                   (side - 2 * inset);
        };
        return {at.x + side / 2 + along(0), at.y + side / 2 - along(1)};
    }

  private:
    std::optional<QueryKeyPlane::End> under_cursor(float reach) const {
        std::optional<QueryKeyPlane::End> nearest;
        const ImVec2 mouse = ImGui::GetMousePos();
        for (const bool key : {true, false})
            for (Index i = 0; i < std::ssize(key ? plane.keys : plane.queries); ++i) {
                const ImVec2 p = point({key, i});
                const float away = std::hypot(p.x - mouse.x, p.y - mouse.y);
                if (away >= reach) continue;
                reach = away;
                nearest = QueryKeyPlane::End{key, i};
            }
        return nearest;
    }
};

}  // namespace attn::app::circuits
