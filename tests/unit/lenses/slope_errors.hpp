// Compares the gradients of lens Gradient with finite differences.
#pragma once

#include <algorithm>
#include <cmath>

#include "runs/row_slopes.hpp"

namespace attn::test {

// Covers every input, by central differences in double.
inline double largest_error(const app::Slopes& slopes) {
    double worst = 0;
    for (Index i = 0; i < app::slope_count; ++i) {
        const auto slope = static_cast<app::Slope>(i);
        if (!slopes.has(slope)) continue;
        const Range rows = slopes.rows(slope);
        for (Index row = rows.begin; row < rows.end; ++row)
            for (Index col = slopes.columns(slope).begin; col < slopes.columns(slope).end; ++col)
                if (const auto moved = slopes.difference(slope, row, col))
                    worst = std::max(worst, std::abs(*moved - slopes.value(slope, row, col)));
    }
    return worst;
}

}  // namespace attn::test
