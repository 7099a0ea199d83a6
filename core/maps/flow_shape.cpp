#include "maps/flow_shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace attn {

namespace {

constexpr float least_rise = 10, loop_middle = 7, loop_half = 6;

float smooth(float t) { return t * t * (3 - 2 * t); }

}  // namespace

float FlowShape::height(float span) const {
    const float most = rise - least_rise;
    return least_rise + most * (1 - std::exp(-span / (2.6f * most)));
}

FlowPoint FlowShape::at(float query, float key, float t) const {
    if (form == FlowForm::columns) return {width * t, query + (key - query) * smooth(t)};
    if (is_loop(query, key)) {
        const float angle = 2 * std::numbers::pi_v<float> * t;
        return {query + loop * std::sin(angle), -loop_middle + loop_half * std::cos(angle)};
    }
    return {query + (key - query) * smooth(t), -4 * height(std::abs(key - query)) * t * (1 - t)};
}

float FlowShape::distance(float query, float key, FlowPoint point) const {
    const auto [low, high] = std::minmax(query, key);
    const bool beside = form == FlowForm::columns ? point.x < 0 || point.x > width
                                                  : point.x < low - loop || point.x > high + loop;
    if (beside) return std::numeric_limits<float>::max();
    float least = std::numeric_limits<float>::max();
    FlowPoint a = at(query, key, 0);
    for (int i = 1; i <= edge_segments; ++i) {
        const FlowPoint b = at(query, key, static_cast<float>(i) / edge_segments);
        const float x = b.x - a.x, y = b.y - a.y, squared = x * x + y * y;
        const float along = ((point.x - a.x) * x + (point.y - a.y) * y) / std::max(squared, 1e-12f);
        const float t = std::clamp(along, 0.0f, 1.0f);
        least = std::min(least, std::hypot(a.x + t * x - point.x, a.y + t * y - point.y));
        a = b;
    }
    return least;
}

}  // namespace attn
