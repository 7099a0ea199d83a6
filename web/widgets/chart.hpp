// Draws curves over an axis of real numbers, with bands, with measured points or as bars, and a mark that can
// be dragged along the axis.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "widgets/theme.hpp"

namespace attn::ui {

struct ChartAxis {
    std::string title;  // includes the unit: "entropy, nats"
    double low = 0, high = 1;
    bool logarithmic = false;  // requires low > 0
    bool whole = false;        // for positions and counts: ticks are whole numbers
    std::string unit = {};     // written behind values and in the title: "KB"

    std::string full_title() const { return unit.empty() ? title : title + ", " + unit; }
};

struct ChartCurve {
    std::string name{};
    ImU32 colour = 0;
    // `x` ascends, or is constant for an upright line; `y` has a gap where it is not finite.
    std::vector<double> x{}, y{};
    std::vector<double> band_low{}, band_high{};  // around y; empty: no band
    bool dashed = false;
    bool points = false;  // marks the measured points
    bool bars = false;    // draws a bar from 0 to each point; bars reach halfway to their neighbours
    bool apart = false;   // points of a plane, in any order, not connected
    float radius = 3;     // radius of points
    std::vector<std::string> notes = {};  // more about each point, for its tooltip; empty: nothing

    void add(double at, double value) {
        x.push_back(at);
        y.push_back(value);
    }
};

struct Chart {
    std::string name;   // the landmark is "chart/<name>"
    std::string title;  // for screen readers; the surrounding card draws it
    ChartAxis x, y;
    std::optional<double> marked{};  // a vertical line that can be dragged, with the curves' values there
};

struct ChartReply {
    std::optional<double> held;  // where on the x axis the mark was dragged or stepped to
    struct Point {
        std::size_t curve, point;
    };
    std::optional<Point> over;  // the point near the cursor, which has a tooltip
    bool clicked = false;       // `over` was clicked
};

// Draws at the cursor and advances it.
ChartReply chart(const Chart& chart, float width, float height, std::span<const ChartCurve> curves);

// Returns one of eight colours that colour-blind people, too, can tell apart in both themes (Okabe & Ito
// 2008).
ImU32 series_colour(std::size_t i);

// Returns which share of the axis lies below a value.
double along(const ChartAxis& axis, double value);
// Writes a value of an axis: a count without decimals, an amount with its unit in four digits.
std::string number_text(const ChartAxis& axis, double value);
// Returns about `wanted` round numbers on an axis, ascending, and at least two: only an axis of whole numbers
// that holds a single one has fewer. On a logarithmic axis these are powers of ten and, if there are few,
// also 2 and 5 times those.
std::vector<double> axis_ticks(const ChartAxis& axis, int wanted);
// Writes the ticks, all in the same way and with the digits that tell them apart.
std::vector<std::string> tick_labels(const ChartAxis& axis, std::span<const double> ticks);
// Returns an axis that holds all finite numbers of the curves and their bands; `from_zero` includes 0.
ChartAxis fitted(std::string title, std::span<const ChartCurve> curves, bool from_zero);

}  // namespace attn::ui
