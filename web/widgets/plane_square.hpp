// Draws a square part of a plane: its axes, and names of points on it.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn::ui {

// The square on the screen.
struct PlaneSquare {
    std::array<double, 2> low, high;  // across, up
    ImVec2 at;                        // its upper left corner
    float side;

    ImVec2 end() const { return {at.x + side, at.y + side}; }
    ImVec2 point(std::array<double, 2> place) const {
        const auto share = [&](std::size_t axis) {
            return static_cast<float>((place[axis] - low[axis]) / (high[axis] - low[axis]));
        };
        return {at.x + side * share(0), at.y + side * (1 - share(1))};
    }
    std::array<double, 2> place(ImVec2 point) const {
        const auto along = [&](std::size_t axis, float share) {
            return low[axis] + (high[axis] - low[axis]) * static_cast<double>(std::clamp(share, 0.0f, 1.0f));
        };
        return {along(0, (point.x - at.x) / side), along(1, 1 - (point.y - at.y) / side)};
    }
    bool holds(ImVec2 point) const {
        return point.x >= at.x && point.x < at.x + side && point.y >= at.y && point.y < at.y + side;
    }
    void draw_axes(const std::string& across, const std::string& up) const;
    // Draws dots, and returns the one near the cursor.
    std::optional<Index> draw_points(std::span<const std::array<double, 2>> places) const;
    // Draws a line through these places, with a handle at the first and, if it has an end, a ring around the
    // last.
    void draw_path(std::span<const std::array<double, 2>> places, bool has_end) const;
};

// Writes names beside points where no other name is.
class PlacedNames {
  public:
    void write(ImVec2 at, const std::string& text);

  private:
    std::vector<std::pair<ImVec2, ImVec2>> taken_;
};

}  // namespace attn::ui
