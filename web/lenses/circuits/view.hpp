// Declares what the files that draw lens Circuits share.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "lenses/circuits/circuits.hpp"
#include "widgets/chart.hpp"

namespace attn::app::circuits_view {

inline constexpr float least_column = 330, map_height = 560, list_name_width = 130, below_text = 4;

inline constexpr float most_side = 560, plane_inset = 26;

inline ImU32 query_colour() { return ui::series_colour(0); }
inline ImU32 key_colour() { return ui::series_colour(1); }

struct Scatter {
    const QueryKeyPlane& plane;
    ImVec2 at;
    float side;
    QueryKeyPlane::Place low{HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL};

    Scatter(const QueryKeyPlane& shown, float width)
        : plane(shown), at(ImGui::GetCursorScreenPos()), side(std::min(width, most_side)) {
        for (const auto* places : {&plane.queries, &plane.keys})
            for (const QueryKeyPlane::Place& place : *places)
                for (std::size_t axis = 0; axis < 2; ++axis) {
                    low[axis] = std::min(low[axis], place[axis]);
                    high[axis] = std::max(high[axis], place[axis]);
                }
    }
    // Both axes have the same scale, so that the plane is not distorted.
    ImVec2 point(const PlaneEnd& end) const {
        const QueryKeyPlane::Place& place =
            (end.key ? plane.keys : plane.queries)[static_cast<std::size_t>(end.point)];
        const double span = std::max({high[0] - low[0], high[1] - low[1], 1e-12});
        const auto along = [&](std::size_t axis) {
            const double from_middle = (place[axis] - (low[axis] + high[axis]) / 2) / span;
            return static_cast<float>(from_middle) * (side - 2 * plane_inset);
        };
        return {at.x + side / 2 + along(0), at.y + side / 2 - along(1)};
    }
    std::optional<PlaneEnd> under_cursor(float reach) const {
        std::optional<PlaneEnd> nearest;
        const ImVec2 mouse = ImGui::GetMousePos();
        for (const bool key : {true, false})
            for (Index i = 0; i < std::ssize(key ? plane.keys : plane.queries); ++i) {
                const ImVec2 p = point({key, i});
                const float away = std::hypot(p.x - mouse.x, p.y - mouse.y);
                if (away >= reach) continue;
                reach = away;
                nearest = PlaneEnd{key, i};
            }
        return nearest;
    }
};

}  // namespace attn::app::circuits_view
