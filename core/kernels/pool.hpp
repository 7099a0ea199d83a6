// Pools the cells of a map in the plainest way; sums are of type Sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/table.hpp"

namespace attn {

// Returns the stronger of two cells or blocks as PoolCall defines it: NaN beats everything, and everything
// beats masked. It has no branches, so that loops over it vectorise.
inline float stronger(float a, float b, bool is_signed) {
    constexpr float masked = -std::numeric_limits<float>::infinity();
    const float size_a = is_signed ? (a == masked ? -1 : std::abs(a)) : a,
                size_b = is_signed ? (b == masked ? -1 : std::abs(b)) : b;
    const bool first = (size_a > size_b) | ((size_a == size_b) & (a >= b)) | (a != a);
    return first ? a : b;
}

template <class Sum>
Index pool(const PoolCall& call) {
    constexpr float masked = -std::numeric_limits<float>::infinity();
    Index not_numbers = 0;
    for (Index r = 0; r < call.strongest.rows; ++r)
        for (Index c = 0; c < call.strongest.cols; ++c) {
            const Range rows{r * call.block_rows, std::min((r + 1) * call.block_rows, call.cells.rows)},
                cols{c * call.block_cols, std::min((c + 1) * call.block_cols, call.cells.cols)};
            float strongest = masked;
            Sum sum = 0;
            Index count = 0;
            for (Index i = rows.begin; i < rows.end; ++i)
                for (Index j = cols.begin; j < cols.end; ++j) {
                    const float cell = call.cells(i, j);
                    if (cell == masked) continue;
                    strongest = stronger(strongest, cell, call.is_signed);
                    sum += static_cast<Sum>(cell);
                    ++count;
                    not_numbers += std::isnan(cell);
                    const double wide = static_cast<double>(cell);
                    if (!call.row_sums.empty()) call.row_sums[static_cast<std::size_t>(i)] += wide;
                    if (!call.column_sums.empty()) call.column_sums[static_cast<std::size_t>(j)] += wide;
                }
            call.strongest(r, c) = strongest;
            call.sum(r, c) = static_cast<float>(sum);
            call.count(r, c) = static_cast<float>(count);
        }
    return not_numbers;
}

}  // namespace attn
