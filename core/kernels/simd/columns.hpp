// Multiplies a vector by rows of a W [out, in]. Each output is summed in the order of its inputs, a block of
// sums after the other, as in a product of matrices.
#pragma once

#include "kernels/simd/tiles.hpp"
#include "kernels/simd/widen.hpp"

namespace attn::simd {

// Adds x · rows of `groups` · width outputs to the sums. Blocks of width × width elements are transposed, so
// that each output is summed in the order of its inputs.
template <class V, int groups>
void add_columns(const float* x, const float* rows, Index row_stride, Index depth, float* to) {
    V sums[groups];
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
                block[i] = V::load(rows + (g * V::width + i) * row_stride + k);
            V::transpose(block);
            for (Index i = 0; i < V::width; ++i)
                if (k + i < depth) sums[g] = V::fma(V::broadcast(x[k + i]), block[i], sums[g]);
        }
    for (int g = 0; g < groups; ++g) (V::load(to + g * V::width) + sums[g]).store(to + g * V::width);
}

// Streams W [out, in] once: a few rows at a time are widened into a piece of the first-level cache, each a
// block of inputs long.
template <class V>
void add_vector_times_columns(const float* x, const WeightRows<V>& w, Range outputs, Index in, float* y) {
    constexpr int groups = V::width == 4 ? 4 : 2;
    constexpr Index together = groups * V::width;
    const Index stride = round_up(least(depth_block, in), V::width);
    const Scratch widened(together * stride);
    fill_zero(widened.data, together * stride);
    for (Index o = outputs.begin; o < outputs.end; o += together, y += together) {
        const Index count = least(together, outputs.end - o);
        w.read({o, o + count}, in);
        float sums[together]{};
        for (Index k = 0; k < in; k += depth_block) {
            const Index depth = least(depth_block, in - k);
            for (Index i = 0; i < count; ++i) w.widening(w.at(o + i, k), depth, widened.data + i * stride);
            add_columns<V, groups>(x + k, widened.data, stride, depth, sums);
        }
        for (Index i = 0; i < count; ++i) y[i] += sums[i];
    }
}

// The same, in tiles where the type has any. Outputs that fill no tile, and tiles of halves that are not
// finite, go the other way.
template <class V>
void add_vector_times_tiles(const float* x, const WeightRows<V>& w, Range outputs, Index in, float* y) {
    const Scratch scaled(in);
    const AddTile add = add_tile_of<V>(w.dtype);
    const float* factors = w.dtype == DType::f16 ? factors_of_halves<V>(x, in, scaled.data) : x;
    Index o = outputs.begin;
    if (add && factors)
        for (; o + tile_outputs <= outputs.end; o += tile_outputs, y += tile_outputs) {
            w.read({o, o + tile_outputs}, in);
            for (Index k = 0; k < in; k += depth_block) {
                const Index depth = least(depth_block, in - k);
                if (add(factors + k, w.at(o, k), w.row_bytes, depth, y)) continue;
                WeightRows<V> part = w;
                part.data = w.at(0, k);
                add_vector_times_columns<V>(x + k, part, {o, o + tile_outputs}, depth, y);
            }
        }
    if (o < outputs.end) add_vector_times_columns<V>(x, w, {o, outputs.end}, in, y);
}

}  // namespace attn::simd
