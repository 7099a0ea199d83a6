// Draws curves over an axis of real numbers: with their bands, their measured points or as bars, and a place on the axis
// that can be dragged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "widgets/theme.hpp"

namespace attn::ui {

struct ChartAxis {
    std::string title;  // with its unit: "entropy, nats"
    double low = 0, high = 1;
    bool logarithmic = false;  // low > 0
    bool whole = false;        // of positions and counts: its ticks are whole numbers
};

struct ChartCurve {
    std::string name{};
    ImU32 colour = 0;
    std::vector<double> x{}, y{};  // x ascending, or all one: upright; gaps where y is not finite
    std::vector<double> band_low{}, band_high{};  // around y; empty: none
    bool dashed = false;
    bool points = false;  // shows where it was measured
    bool bars = false;    // is drawn as a bar from 0 to each point, which reach halfway to their neighbours
    bool apart = false;   // points of a plane, in any order, with nothing between them
    float radius = 3;     // of points
    std::vector<std::string> notes = {};  // further words about each point; empty: none
};

struct Chart {
    std::string name;   // of its landmark, "chart/<name>"
    std::string title;  // of its node; what is around it draws it
    ChartAxis x, y;
    std::optional<double>
        marked{};  // shown as a vertical line, with the curves' values there; it can be dragged
};

struct ChartReply {
    std::optional<double> held;  // where on the x axis the mark was dragged or stepped to
    struct Point {
        std::size_t curve, point;
    };
    std::optional<Point> over;  // the point near the cursor, which has a tooltip
    bool clicked = false;       // on it
};

// Draws at the cursor and advances it.
ChartReply chart(const Chart& chart, float width, float height, std::span<const ChartCurve> curves);

// Returns one of eight colours that can be told apart in both themes, even by colour-blind people (Okabe &
// Ito 2008).
ImU32 series_colour(std::size_t i);

// Returns round numbers on an axis, about as many as wanted, ascending: of a logarithmic one powers of ten, and 2 and 5
// times these where there are few.
std::vector<double> axis_ticks(const ChartAxis& axis, int wanted);
// Returns a range of such an axis that holds all finite numbers of the curves with their bands; `from_zero` takes 0 in.
ChartAxis fitted(std::string title, std::span<const ChartCurve> curves, bool from_zero);

}  // namespace attn::ui
