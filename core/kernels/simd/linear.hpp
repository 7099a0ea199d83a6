// Computes y = x W + bias for any layout and element type of W, and Q Kᵀ, which is the same with K as a W [out, in].
#pragma once

#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// B is packed [256, 192] at a time. With the [512, 256] of A that it is multiplied by, and their sums, it stays
// in the second-level cache.
inline constexpr Index row_block = 512;
inline constexpr Index column_block = 192;

// Adds x[k] · W[k, :] to the sums for `count` inputs from k on.
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

// Streams W [in, out] once, eight inputs at a time.
template <class V, class E>
void add_vector_times_rows(const float* x, Stored<E> w, Index in, Index out, float* y) {
    const Scratch sums(out);
    for (Index block = 0; block < in; block += depth_block) {
        fill_zero(sums.data, out);
        const Index end = least(block + depth_block, in);
        Index k = block;
        for (; k + 8 <= end; k += 8) add_rows<V, 8>(x, w, k, out, sums.data);
        for (; k < end; ++k) add_rows<V, 1>(x, w, k, out, sums.data);
        for (Index o = 0; o < out; ++o) y[o] += sums.data[o];
    }
}

// Streams W [out, in] once. Blocks of width × width elements are transposed, so that each output is summed in the
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

// Computes a · b in parts, one per task. b(columns, depths, to) packs a piece of B, and each finished part goes to
// store(sums, first row, first column). The sums of a part are contiguous, whatever the strides of their destination:
// rows a multiple of 4 KB apart would all map to the same set of the cache.
template <class V, class Pack, class Store>
void multiply_in_blocks(ConstMatrix a, Index columns_of_b, Pack b, Store store) {
    const Index across = blocks(columns_of_b, column_block);
    for_each_task(blocks(a.rows, row_block) * across, [&](Index task) {
        const Range rows = block(task / across, row_block, a.rows),
                    columns = block(task % across, column_block, columns_of_b);
        const Index depth = least(depth_block, a.cols);
        const Scratch packed_b(packed_size<V>(depth, columns.size())), sums(rows.size() * columns.size());
        fill_zero(sums.data, rows.size() * columns.size());
        const MatrixView<float> part{sums.data, rows.size(), columns.size(), columns.size()};
        for (Index k = 0; k < a.cols; k += depth) {
            const Range depths{k, least(k + depth, a.cols)};
            b(columns, depths, packed_b.data);
            multiply<V, Write::added>({a.row(rows.begin) + k, rows.size(), depths.size(), a.row_stride},
                                      packed_b.data, depths.size(), part);
        }
        store(part, rows.begin, columns.begin);
    });
}

// A task has this many columns of a vector's product, enough to be worth a thread.
inline constexpr Index vector_columns = 1024;

// Computes x W.
template <class V, class E, class Store>
void product(ConstMatrix x, Stored<E> w, WeightView::Layout layout, Index out, Store store) {
    const bool in_out = layout == WeightView::Layout::in_out;
    if (x.rows == 1)
        return for_each_block(out, vector_columns, [&](Range columns) {
            float sums[vector_columns]{};
            if (in_out)
                add_vector_times_rows<V>(x.data, w.from(0, columns.begin), x.cols, columns.size(), sums);
            else
                add_vector_times_columns<V>(x.data, w.from(columns.begin, 0), x.cols, columns.size(), sums);
            store({sums, 1, columns.size(), columns.size()}, 0, columns.begin);
        });
    const auto pack_part = [&](Range columns, Range depths, float* to) {
        if (in_out)
            pack<V>(w.from(depths.begin, columns.begin), depths.size(), columns.size(), to);
        else
            pack_transposed<V>(w.from(columns.begin, depths.begin), depths.size(), columns.size(), to);
    };
    multiply_in_blocks<V>(x, out, pack_part, store);
}

// Computes x W for a W [out, in] whose rows are in blocks. They are widened where they are used: a few rows' share of
// depth_block elements at a time, which is a whole number of blocks of every type.
template <class V, class Store>
void product_of_blocks(ConstMatrix x, const WeightView& w, Store store) {
    const auto widen = [&](Range rows, Range depths, float* to) {
        for (Index row = rows.begin; row < rows.end; ++row, to += depths.size())
            convert_to_f32(w.dtype, w.data, row * w.in + depths.begin,
                           {to, static_cast<std::size_t>(depths.size())});
    };
    if (x.rows == 1)
        return for_each_block(w.out, vector_columns, [&](Range columns) {
            float sums[vector_columns]{};
            constexpr Index together = 16;
            const Scratch widened(together * depth_block);
            for (Index o = 0; o < columns.size(); o += together) {
                const Range rows{columns.begin + o, least(columns.begin + o + together, columns.end)};
                for (Index k = 0; k < w.in; k += depth_block) {
                    const Range depths{k, least(k + depth_block, w.in)};
                    widen(rows, depths, widened.data);
                    add_vector_times_columns<V>(
                        x.data + k, stored({widened.data, rows.size(), depths.size(), depths.size()}),
                        depths.size(), rows.size(), sums + o);
                }
            }
            store({sums, 1, columns.size(), columns.size()}, 0, columns.begin);
        });
    multiply_in_blocks<V>(
        x, w.out,
        [&](Range columns, Range depths, float* to) {
            const Scratch widened(columns.size() * depths.size());
            widen(columns, depths, widened.data);
            pack_transposed<V>(stored({widened.data, columns.size(), depths.size(), depths.size()}),
                               depths.size(), columns.size(), to);
        },
        store);
}

template <class V>
void linear(ConstMatrix x, const WeightView& weight, std::span<const float> bias, Activation activation,
            MatrixView<float> y) {
    const auto store = [&](MatrixView<float> sums, Index row, Index column) {
        for (Index r = 0; r < sums.rows; ++r) {
            float* to = y.row(row + r) + column;
            for_each_vector<V>(sums.cols, [&](Index i, Index count) {
                const V sum = load_some<V>(sums.row(r) + i, count);
                store_some(bias.empty() ? sum : sum + load_some<V>(bias.data() + column + i, count), to + i,
                           count);
            });
            activate<V>(activation, to, sums.cols);
        }
    };
    const Index stride = weight.layout == WeightView::Layout::in_out ? weight.out : weight.in;
    switch (weight.dtype) {
        case DType::f16: return product<V>(x, Stored<F16>{weight.data, stride}, weight.layout, y.cols, store);
        case DType::bf16:
            return product<V>(x, Stored<Bf16>{weight.data, stride}, weight.layout, y.cols, store);
        case DType::f32: return product<V>(x, Stored<F32>{weight.data, stride}, weight.layout, y.cols, store);
        default: return product_of_blocks<V>(x, weight, store);
    }
}

template <class V>
void dot_products(ConstMatrix q, ConstMatrix k, MatrixView<float> scores) {
    product<V>(q, stored(k), WeightView::Layout::out_in, scores.cols,
               [&](MatrixView<float> sums, Index row, Index column) {
                   for (Index r = 0; r < sums.rows; ++r)
                       __builtin_memcpy(scores.row(row + r) + column, sums.row(r),
                                        static_cast<std::size_t>(sums.cols) * sizeof(float));
               });
}

}  // namespace attn::simd
