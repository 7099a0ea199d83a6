// Draws curves over an axis of steps, which several plots below one another share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "widgets/chart.hpp"

namespace attn::ui {

struct Curve {
    std::vector<std::int64_t> steps;  // ascending
    std::vector<float> values;        // one per step; the curve has gaps where they are not finite
    ImU32 colour = 0;
    std::string name;  // shown next to the value under the cursor; empty: unnamed
    bool dashed = false;
};

struct Plot {
    std::string name;  // of its landmark, "plot/<name>"
    std::string title;
    std::int64_t steps = 1;  // the axis goes from 0 to here
    float low = 0, high = 1;
    std::string format = "%.2f";
    std::int64_t marked = 0;  // shown as a vertical line, with the curves' values there
};

struct PlotReply {
    std::optional<std::int64_t> held;  // the step that is pressed or dragged to
    // The curve under the cursor, and its point nearest to it.
    struct Mark {
        std::ptrdiff_t curve;
        std::int64_t step;
    };
    std::optional<Mark> over;
};

// Draws at the cursor and advances it.
PlotReply plot(const Plot& plot, float width, float height, const std::vector<Curve>& curves);

}  // namespace attn::ui
