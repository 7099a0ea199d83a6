// Computes the gradients of a linear layer's weight and bias: sums over the rows, in blocks of 256.
#pragma once

#include "kernels/simd/linear.hpp"

namespace attn::simd {

// Each task has [192, 192] of the gradient: the sums stay in the second-level cache next to the factors.
inline constexpr Index gradient_block = 192;
// Rows of A are copied this far apart: an odd number of cache lines, so that a column is spread
// over all sets of the cache.
inline constexpr Index gradient_stride = gradient_block + 16;

// to += aᵀ · b; a [n, to.rows], b [n, to.cols].
template <class V>
void add_turned_product(ConstMatrix a, ConstMatrix b, MatrixView<float> to) {
    const Index across = blocks(to.cols, gradient_block);
    for_each_task(blocks(to.rows, gradient_block) * across, [&](Index task) {
        const Range rows = block(task / across, gradient_block, to.rows),
                    columns = block(task % across, gradient_block, to.cols);
        const Scratch packed_b(packed_size<V>(depth_block, columns.size())),
            copied_a(depth_block * gradient_stride), sums(rows.size() * columns.size());
        fill_zero(sums.data, rows.size() * columns.size());
        const MatrixView<float> part{sums.data, rows.size(), columns.size(), columns.size()};
        for (Index k = 0; k < a.rows; k += depth_block) {
            const Index depth = least(depth_block, a.rows - k);
            pack<V>(stored(b).from(k, columns.begin), depth, columns.size(), packed_b.data);
            copy_rows({a.row(k) + rows.begin, depth, rows.size(), a.row_stride}, copied_a.data,
                      gradient_stride);
            multiply<V, Write::added, Lies::turned>({copied_a.data, depth, rows.size(), gradient_stride},
                                                    packed_b.data, depth, part);
        }
        for (Index r = 0; r < part.rows; ++r) {
            float* out = to.row(rows.begin + r) + columns.begin;
            for_each_vector<V>(part.cols, [&](Index i, Index count) {
                store_some(load_some<V>(out + i, count) + load_some<V>(part.row(r) + i, count), out + i,
                           count);
            });
        }
    });
}

// to += the column sums of m [n, to.size()].
template <class V>
void add_column_sums(ConstMatrix m, std::span<float> to) {
    for_each_block(m.cols, gradient_block, [&](Range columns) {
        for (Index k = 0; k < m.rows; k += depth_block) {
            float sums[gradient_block]{};
            for (Index r = k; r < least(k + depth_block, m.rows); ++r)
                for_each_vector<V>(columns.size(), [&](Index i, Index count) {
                    store_some(
                        load_some<V>(sums + i, count) + load_some<V>(m.row(r) + columns.begin + i, count),
                        sums + i, count);
                });
            for (Index c = 0; c < columns.size(); ++c)
                to[static_cast<std::size_t>(columns.begin + c)] += sums[c];
        }
    });
}

template <class V>
void linear_backward(ConstMatrix x, ConstMatrix dy, WeightView::Layout layout, MatrixView<float> d_weight,
                     std::span<float> d_bias) {
    if (layout == WeightView::Layout::in_out)
        add_turned_product<V>(x, dy, d_weight);
    else
        add_turned_product<V>(dy, x, d_weight);
    if (!d_bias.empty()) add_column_sums<V>(dy, d_bias);
}

}  // namespace attn::simd
