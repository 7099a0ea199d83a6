#include "widgets/map_stroke.hpp"

#include <algorithm>
#include <cmath>

namespace attn::ui {

std::vector<MapWindow> stroke_squares(MapCell from, MapCell to, Index side) {
    const Index row = from.query / side, col = from.key / side, down = to.query / side - row,
                across = to.key / side - col, steps = std::max(std::abs(down), std::abs(across));
    std::vector<MapWindow> squares;
    const auto along = [&](Index begin, Index length, Index step) {
        const double exact = static_cast<double>(length) * static_cast<double>(step) /
                             static_cast<double>(std::max<Index>(steps, 1));
        return begin + static_cast<Index>(std::lround(exact));
    };
    for (Index step = 0; step <= steps; ++step) {
        const Index query = along(row, down, step) * side, key = along(col, across, step) * side;
        squares.push_back({{query, query + side}, {key, key + side}});
    }
    return squares;
}

}  // namespace attn::ui
