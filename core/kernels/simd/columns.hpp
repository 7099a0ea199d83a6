// Multiplies a vector by rows of a W [out, in]. Each output is summed in the order of its inputs, a block of
// sums after the other, as in a product of matrices.
#pragma once

#include "kernels/simd/weight_panels.hpp"

namespace attn::simd {

// The products of x with `groups` · width rows. Blocks of width × width elements are transposed, so that each
// is summed in the order of its inputs.
template <class V, int groups>
[[gnu::always_inline]] inline void products_with_rows(const float* x, const float* rows, Index row_stride,
                                                      Index depth, V (&sums)[groups]) {
    for (int g = 0; g < groups; ++g) sums[g] = V::zero();
    Index k = 0;
    for (; k + V::width <= depth; k += V::width)
        for (int g = 0; g < groups; ++g) {
            V block[V::width];
            for (Index i = 0; i < V::width; ++i)
                block[i] = V::load(rows + (g * V::width + i) * row_stride + k);
            V::transpose(block);
            for (Index i = 0; i < V::width; ++i) sums[g] = V::fma(V::broadcast(x[k + i]), block[i], sums[g]);
        }
    if (k < depth)
        for (int g = 0; g < groups; ++g) {
            V block[V::width];
            for (Index i = 0; i < V::width; ++i)
                block[i] = V::load(rows + (g * V::width + i) * row_stride + k, depth - k);
            V::transpose(block);
            for (Index i = 0; i < V::width; ++i)
                if (k + i < depth) sums[g] = V::fma(V::broadcast(x[k + i]), block[i], sums[g]);
        }
}

// A few rows at a time are read into a piece of the first-level cache, each a block of inputs long:
// read(row, inputs, to).
template <class V, class Read>
void add_vector_times_rows_of(const float* x, Read read, Range outputs, Index in, float* y) {
    constexpr int groups = V::width == 4 ? 4 : 2;
    constexpr Index together = groups * V::width;
    const Index stride = round_up(least(depth_block, in), V::width);
    const Scratch widened(together * stride);
    fill_zero(widened.data, together * stride);
    for (Index o = outputs.begin; o < outputs.end; o += together, y += together) {
        const Index count = least(together, outputs.end - o);
        float sums[together]{};
        for (Index k = 0; k < in; k += depth_block) {
            const Range inputs{k, least(k + depth_block, in)};
            for (Index i = 0; i < count; ++i) read(o + i, inputs, widened.data + i * stride);
            V products[groups];
            products_with_rows<V, groups>(x + k, widened.data, stride, inputs.size(), products);
            for (int g = 0; g < groups; ++g) {
                float* to = sums + g * V::width;
                (V::load(to) + products[g]).store(to);
            }
        }
        for (Index i = 0; i < count; ++i) y[i] += sums[i];
    }
}

[[gnu::always_inline]] inline void read_inputs(const WeightView& weight, Index output, Range inputs,
                                               float* to) {
    read_row(weight, output, inputs.begin, {to, static_cast<std::size_t>(inputs.size())});
}

// Adds to y the outputs of a matrix in panels: add(panel, panels, sums) adds those of whole panels, and
// rest(outputs, y) those of the last rows, which lie in none.
template <class V, class Add, class Rest>
void add_outputs_of_panels(const WeightView& weight, Range outputs, Add add, Rest rest, float* y) {
    const Range stored{weight.first_row + outputs.begin, weight.first_row + outputs.end};
    const Index end = least(stored.end, weight.rows_in_panels);
    Index row = stored.begin;
    while (row < end) {
        constexpr int at_once = panels_at_once<V>;
        const Index before = row % panel_rows, panel = row / panel_rows;
        const int together = end - row + before > panel_rows * (at_once - 1) ? at_once : 1;
        const Index count = least(panel_rows * together - before, end - row);
        alignas(64) float sums[panel_rows * at_once]{};
        add(panel, together, sums);
        for (Index i = 0; i < count; ++i) y[i] += sums[before + i];
        row += count, y += count;
    }
    if (row < stored.end) rest({row - weight.first_row, outputs.end}, y);
}

// The same for weights that are not in blocks; sums of panels take the factors.
template <class V>
void add_vector_times_panels(ConstMatrix x, const float* factors, const WeightView& weight,
                             const ElementPanels<V>& panels, Range outputs, float* y) {
    add_outputs_of_panels<V>(
        weight, outputs,
        [&](Index panel, int together, float* sums) {
            for (Index k = 0; k < x.cols; k += depth_block)
                panels.add(factors, panel, together, {k, least(k + depth_block, x.cols)}, sums);
        },
        [&](Range rest, float* to) {
            const auto read = [&](Index o, Range inputs, float* row) { read_inputs(weight, o, inputs, row); };
            add_vector_times_rows_of<V>(x.data, read, rest, x.cols, to);
        },
        y);
}

}  // namespace attn::simd
