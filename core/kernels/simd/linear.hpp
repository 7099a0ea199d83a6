// y = x W + bias for any layout and element type of W, and Q Kᵀ, which is the same with K for a W [out, in].
#pragma once

#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// Of B, [256, 64] at a time is packed; A's [512, 256] stays in the second-level cache meanwhile.
inline constexpr Index row_block = 512;
inline constexpr Index column_block = 64;

// sums += x[k] · W[k, :] for `count` inputs from k on.
template <class V, int count, class E>
void add_rows(const float* x, Stored<E> w, Index k, Index out, float* sums) {
    V factors[count];
    for (int i = 0; i < count; ++i) factors[i] = V::broadcast(x[k + i]);
    Index o = 0;
    for (; o + V::width <= out; o += V::width) {
        V sum = V::load(sums + o);
        for (int i = 0; i < count; ++i) sum = V::fma(factors[i], w.template load<V>(k + i, o), sum);
        sum.store(sums + o);
    }
    if (o == out) return;
    V sum = V::load(sums + o, out - o);
    for (int i = 0; i < count; ++i) sum = V::fma(factors[i], w.template load<V>(k + i, o, out - o), sum);
    sum.store(sums + o, out - o);
}

// W [in, out] streamed once, eight inputs at a time.
template <class V, class E>
void add_vector_times_rows(const float* x, Stored<E> w, Index in, Index out, float* y) {
    const Scratch sums(out);
    for (Index block = 0; block < in; block += depth_block) {
        for (Index o = 0; o < out; ++o) sums.data[o] = 0;
        const Index end = least(block + depth_block, in);
        Index k = block;
        for (; k + 8 <= end; k += 8) add_rows<V, 8>(x, w, k, out, sums.data);
        for (; k < end; ++k) add_rows<V, 1>(x, w, k, out, sums.data);
        for (Index o = 0; o < out; ++o) y[o] += sums.data[o];
    }
}

// W [out, in] streamed once: blocks of width × width elements are turned, so that each output is summed in the
// order of its inputs. `outputs` is groups · width, or less in the last call.
template <class V, int groups, class E>
[[gnu::always_inline]] inline void add_columns(const float* x, Stored<E> w, Index in, Index outputs,
                                               float* y) {
    const auto count_of = [&](int g) { return least(V::width, outputs - g * V::width); };
    V sums[groups];
    const auto add_block = [&](Index k, Index steps) {
        for (int g = 0; g < groups; ++g) {
            V rows[V::width];
            for (Index i = 0; i < V::width; ++i)
                rows[i] = i >= count_of(g)    ? V::zero()
                          : steps == V::width ? w.template load<V>(g * V::width + i, k)
                                              : w.template load<V>(g * V::width + i, k, steps);
            V::transpose(rows);
            for (Index i = 0; i < V::width; ++i)
                if (i < steps) sums[g] = V::fma(V::broadcast(x[k + i]), rows[i], sums[g]);
        }
    };
    for (Index block = 0; block < in; block += depth_block) {
        for (int g = 0; g < groups; ++g) sums[g] = V::zero();
        const Index end = least(block + depth_block, in);
        Index k = block;
        for (; k + V::width <= end; k += V::width) add_block(k, V::width);
        if (k < end) add_block(k, end - k);
        for (int g = 0; g < groups; ++g) {
            float* to = y + g * V::width;
            (V::load(to, count_of(g)) + sums[g]).store(to, count_of(g));
        }
    }
}

template <class V, class E>
void add_vector_times_columns(const float* x, Stored<E> w, Index in, Index out, float* y) {
    constexpr int groups = V::width == 4 ? 4 : 2;
    constexpr Index together = groups * V::width;
    Index o = 0;
    for (; o + together <= out; o += together) add_columns<V, groups>(x, w.from(o, 0), in, together, y + o);
    for (; o < out; o += V::width) add_columns<V, 1>(x, w.from(o, 0), in, least(V::width, out - o), y + o);
}

inline MatrixView<float> columns_of(MatrixView<float> m, Range columns) {
    return {m.data + columns.begin, m.rows, columns.size(), m.row_stride};
}

// c += a · b, a part of C to a task; `b` packs columns × depths of itself: b(columns, depths, to); finish(part) follows
// on each part's last sum.
template <class V, class Pack, class Finish>
void multiply_in_blocks(ConstMatrix a, MatrixView<float> c, Pack b, Finish finish) {
    const Index across = blocks(c.cols, column_block);
    for_each_task(blocks(a.rows, row_block) * across, [&](Index task) {
        const Range rows = block(task / across, row_block, a.rows),
                    columns = block(task % across, column_block, c.cols);
        const Scratch packed(packed_size<V>(least(depth_block, a.cols), columns.size()));
        const MatrixView<float> part =
            columns_of({c.row(rows.begin), rows.size(), c.cols, c.row_stride}, columns);
        for (Index k = 0; k < a.cols; k += depth_block) {
            const Range depths{k, least(k + depth_block, a.cols)};
            b(columns, depths, packed.data);
            multiply<V, Write::added>({a.row(rows.begin) + k, rows.size(), depths.size(), a.row_stride},
                                      packed.data, part);
        }
        finish(part);
    });
}

// Columns of a vector's product to a task: enough to be worth a thread.
inline constexpr Index vector_columns = 256;

// y += x W.
template <class V, class E, class Finish>
void add_product(ConstMatrix x, Stored<E> w, WeightView::Layout layout, MatrixView<float> y, Finish finish) {
    const bool in_out = layout == WeightView::Layout::in_out;
    if (x.rows == 1)
        return for_each_task(blocks(y.cols, vector_columns), [&](Index task) {
            const Range columns = block(task, vector_columns, y.cols);
            const MatrixView<float> part = columns_of(y, columns);
            if (in_out)
                add_vector_times_rows<V>(x.data, w.from(0, columns.begin), x.cols, part.cols, part.data);
            else
                add_vector_times_columns<V>(x.data, w.from(columns.begin, 0), x.cols, part.cols, part.data);
            finish(part);
        });
    const auto pack_part = [&](Range columns, Range depths, float* to) {
        if (in_out)
            pack<V>(w.from(depths.begin, columns.begin), depths.size(), columns.size(), to);
        else
            pack_transposed<V>(w.from(columns.begin, depths.begin), depths.size(), columns.size(), to);
    };
    multiply_in_blocks<V>(x, y, pack_part, finish);
}

template <class V>
void linear(ConstMatrix x, const WeightView& weight, std::span<const float> bias, Activation activation,
            MatrixView<float> y) {
    const auto bytes = static_cast<std::size_t>(y.cols) * sizeof(float);
    for (Index r = 0; r < y.rows && y.cols > 0; ++r)
        bias.empty() ? __builtin_memset(y.row(r), 0, bytes) : __builtin_memcpy(y.row(r), bias.data(), bytes);

    const auto finish = [&](MatrixView<float> part) {
        for (Index r = 0; r < part.rows; ++r) activate<V>(activation, part.row(r), part.cols);
    };
    const Index stride = weight.layout == WeightView::Layout::in_out ? weight.out : weight.in;
    switch (weight.dtype) {
        case DType::f16: return add_product<V>(x, Stored<F16>{weight.data, stride}, weight.layout, y, finish);
        case DType::bf16:
            return add_product<V>(x, Stored<Bf16>{weight.data, stride}, weight.layout, y, finish);
        default: return add_product<V>(x, Stored<F32>{weight.data, stride}, weight.layout, y, finish);
    }
}

template <class V>
void dot_products(ConstMatrix q, ConstMatrix k, MatrixView<float> scores) {
    for (Index r = 0; r < scores.rows && scores.cols > 0; ++r)
        __builtin_memset(scores.row(r), 0, static_cast<std::size_t>(scores.cols) * sizeof(float));
    add_product<V>(q, stored(k), WeightView::Layout::out_in, scores, [](MatrixView<float>) {});
}

}  // namespace attn::simd
