// Says where the cells of a map are on the screen in this frame.
#pragma once

#include <algorithm>
#include <cmath>

#include "widgets/map_view.hpp"

namespace attn::ui {

inline constexpr float most_cell = 64;  // points

struct MapView::Plot {
    ImVec2 min, size, cell;  // points, at this zoom
    ImVec2 first;            // key and query in the upper left corner
    Index n_q, n_k;

    ImVec2 max() const { return {min.x + size.x, min.y + size.y}; }
    float x(float key) const { return min.x + (key - first.x) * cell.x; }
    float y(float query) const { return min.y + (query - first.y) * cell.y; }
    float x(Index key) const { return x(static_cast<float>(key)); }
    float y(Index query) const { return y(static_cast<float>(query)); }
    Range queries() const { return in_view(first.y, size.y, cell.y, n_q); }
    Range keys() const { return in_view(first.x, size.x, cell.x, n_k); }
    // Queries whose centre is in view.
    Range centred_queries() const { return centred(first.y, size.y, cell.y, n_q); }
    Range centred_keys() const { return centred(first.x, size.x, cell.x, n_k); }
    MapCell at(ImVec2 mouse) const {
        const auto index = [](float distance, Index n) {
            return static_cast<Index>(std::clamp(distance, 0.0f, static_cast<float>(n - 1)));
        };
        return {index(first.y + (mouse.y - min.y) / cell.y, n_q),
                index(first.x + (mouse.x - min.x) / cell.x, n_k)};
    }

  private:
    static Range in_view(float first, float length, float cell, Index n) {
        return {static_cast<Index>(first),
                std::min(n, static_cast<Index>(std::ceil(first + length / cell - 1e-3f)))};
    }
    static Range centred(float first, float length, float cell, Index n) {
        return {static_cast<Index>(std::ceil(first - 0.5f)),
                std::min(n, static_cast<Index>(std::floor(first + length / cell - 0.5f + 1e-3f)) + 1)};
    }
};

}  // namespace attn::ui
