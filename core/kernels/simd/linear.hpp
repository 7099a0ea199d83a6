// Computes y = x W + bias for any layout and element type of W, and Q Kᵀ, which is the same with K as a W
// [out, in].
#pragma once

#include "kernels/simd/columns.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/simd/parts.hpp"
#include "kernels/table.hpp"
#include "kernels/workers.hpp"

namespace attn::simd {

// B is packed [256, 192] at a time. With the [512, 256] of A that it is multiplied by, and their sums, it
// stays in the second-level cache.
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

// Streams W [in, out] once, five inputs at a time: with more, V8 has too few registers, and with fewer the
// sums are read and written more often.
template <class V, class E>
void add_vector_times_rows(const float* x, Stored<E> w, Index in, Index out, float* y) {
    const Scratch sums(out);
    for (Index block = 0; block < in; block += depth_block) {
        fill_zero(sums.data, out);
        const Index end = least(block + depth_block, in);
        Index k = block;
        for (; k + 5 <= end; k += 5) add_rows<V, 5>(x, w, k, out, sums.data);
        for (; k < end; ++k) add_rows<V, 1>(x, w, k, out, sums.data);
        for (Index o = 0; o < out; ++o) y[o] += sums.data[o];
    }
}

// Calls f(rows, columns) for blocks of a product of this size, each as a task.
template <class F>
void for_each_block_of_product(Index rows, Index columns, F f) {
    const Index across = blocks(columns, column_block);
    for_each_task(blocks(rows, row_block) * across, [&](Index task) {
        f(block(task / across, row_block, rows), block(task % across, column_block, columns));
    });
}

// Computes a · b in parts, one per task. b(columns, depths, to) packs a piece of B, and each finished part
// goes to store(sums, first row, first column). The sums of a part are contiguous, whatever the strides of
// their destination: rows a multiple of 4 KB apart would all map to the same set of the cache.
template <class V, class Pack, class Store>
void multiply_in_blocks(ConstMatrix a, Index columns_of_b, Pack b, Store store) {
    for_each_block_of_product(a.rows, columns_of_b, [&](Range rows, Range columns) {
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

// A task has this many outputs of a vector's product, enough to be worth a thread. Where a row has an input's
// weights for all outputs, a task takes as long a piece of the rows as leaves one for every thread, within
// these limits: memory is read faster in long runs.
inline constexpr Index vector_outputs = 128, least_vector_columns = 384, most_vector_columns = 1536;

// Computes x W for a vector x and a W [in, out].
template <class V, class E, class Store>
void vector_times_rows(ConstMatrix x, Stored<E> w, Index out, Store store) {
    const Index shared = round_up(blocks(out, thread_count()), least_vector_columns);
    for_each_block(out, least(shared, most_vector_columns), [&](Range columns) {
        float sums[most_vector_columns]{};
        add_vector_times_rows<V>(x.data, w.from(0, columns.begin), x.cols, columns.size(), sums);
        store({sums, 1, columns.size(), columns.size()}, 0, columns.begin);
    });
}

// Computes x W for a vector x and a W [out, in]: add(outputs, sums) adds some of them.
template <class Add, class Store>
void vector_times_columns(Index out, Add add, Store store) {
    for_each_block(out, vector_outputs, [&](Range outputs) {
        float sums[vector_outputs]{};
        add(outputs, sums);
        store({sums, 1, outputs.size(), outputs.size()}, 0, outputs.begin);
    });
}

// Computes x W for a W of elements that lie each by itself.
template <class V, class E, class Store>
void product(ConstMatrix x, Stored<E> w, WeightView::Layout layout, Index out, Store store) {
    const bool in_out = layout == WeightView::Layout::in_out;
    if (x.rows == 1) {
        if (in_out) return vector_times_rows<V>(x, w, out, store);
        return vector_times_columns(
            out,
            [&](Range outputs, float* sums) {
                const auto read = [&](Index o, Range inputs, float* to) {
                    const Stored<E> row = w.from(o, inputs.begin);
                    for_each_vector<V>(inputs.size(), [&](Index i, Index count) {
                        store_some(count == V::width ? row.template load<V>(0, i)
                                                     : row.template load<V>(0, i, count),
                                   to + i, count);
                    });
                };
                add_vector_times_rows_of<V>(x.data, read, outputs, x.cols, sums);
            },
            store);
    }
    const auto pack_part = [&](Range columns, Range depths, float* to) {
        if (in_out)
            pack<V>(w.from(depths.begin, columns.begin), depths.size(), columns.size(), to);
        else
            pack_transposed<V>(w.from(columns.begin, depths.begin), depths.size(), columns.size(), to);
    };
    multiply_in_blocks<V>(x, out, pack_part, store);
}

// Calls use(m) with some rows of weights as floats, m [inputs, rows]. The panels and the blocks that hold
// them are widened as a whole.
template <class V, class Use>
void widen_rows(const WeightView& weight, Range rows, Range inputs, Use use) {
    const Range held{weight.first_row + rows.begin, weight.first_row + rows.end};
    const Index first = held.begin / panel_rows * panel_rows, stride = round_up(held.end - first, panel_rows);
    const auto use_rows = [&](const float* of_inputs) {
        use(stored({of_inputs + held.begin - first, inputs.size(), rows.size(), stride}));
    };
    if (const Index block = block_elements(weight.dtype); block > 1) {
        const BlockPanels<V> panels(weight);
        const Range whole{inputs.begin / block * block, round_up(inputs.end, block)};
        const Scratch floats(panels.floats_apart(whole.size()) * stride);
        const BlocksApart apart = panels.apart(floats.data, whole.size(), stride);
        panels.take_apart(weight, {first, held.end}, whole, apart);
        widen_apart<V>(apart, whole.size(), panels.part());
        return use_rows(apart.quants + (inputs.begin - whole.begin) * stride);
    }
    const ElementPanels<V> panels(weight);
    const Scratch wide(inputs.size() * stride), own(inputs.size());
    for (Index row = first; row < least(held.end, weight.rows_in_panels); row += panel_rows)
        panels.widen(row / panel_rows, inputs, wide.data + row - first, stride);
    for (Index row = held.begin; row < held.end; ++row) {
        if (row < weight.rows_in_panels) continue;
        read_inputs(weight, row - weight.first_row, inputs, own.data);
        for (Index k = 0; k < inputs.size(); ++k) wide.data[k * stride + row - first] = own.data[k];
    }
    use_rows(wide.data);
}

// Computes x W for a W [out, in] in blocks.
template <class V, class Store>
void product_of_blocks(ConstMatrix x, const WeightView& weight, Store store) {
    const BlockPanels<V> panels(weight);
    const SumsOfParts<V> sums_of_x(x, panels.part());
    if (x.rows == 1) {
        const Scratch scaled(x.cols);
        if (const float* large = panels.enlarge(x.data, x.cols, scaled.data))
            return vector_times_columns(
                weight.out,
                [&](Range outputs, float* y) {
                    add_outputs_of_panels<V>(
                        weight, outputs,
                        [&](Index panel, int together, float* sums) {
                            panels.add(large, sums_of_x.row(0), panel, together, x.cols, sums);
                        },
                        [&](Range rest, float* to) {
                            const Scratch sums(round_up(rest.size(), panel_width<V>));
                            multiply_in_parts<V>(x, sums_of_x, {0, 1}, weight, panels, rest, sums.data);
                            for (Index i = 0; i < rest.size(); ++i) to[i] += sums.data[i];
                        },
                        y);
                },
                store);
    }
    for_each_block_of_product(x.rows, weight.out, [&](Range rows, Range columns) {
        const Index stride = round_up(columns.size(), panel_width<V>);
        const Scratch sums(rows.size() * stride);
        multiply_in_parts<V>(x, sums_of_x, rows, weight, panels, columns, sums.data);
        store({sums.data, rows.size(), columns.size(), stride}, rows.begin, columns.begin);
    });
}

// Computes x W for a W that lies in panels, or whose rows are in blocks.
template <class V, class Store>
void product_of_panels(ConstMatrix x, const WeightView& weight, Store store) {
    const bool out_in = weight.layout == WeightView::Layout::out_in;
    if (out_in && block_elements(weight.dtype) > 1) return product_of_blocks<V>(x, weight, store);
    if (x.rows == 1 && out_in) {
        ElementPanels<V> panels(weight);
        const bool small = V::width == 4 && weight.dtype == DType::f16 && weight.finite;
        const Scratch scaled(small ? x.cols : 0);
        static constexpr float power[]{0x1p112f, 0x1p112f, 0x1p112f, 0x1p112f};
        const float* large = nullptr;
        if constexpr (V::width == 4)
            if (small) large = enlarged<V>(x.data, x.cols, power, 0x1p15f, scaled.data);
        const float* factors = large ? large : x.data;
        if (large) panels.take_large_factors();
        return vector_times_columns(
            weight.out,
            [&](Range outputs, float* sums) {
                add_vector_times_panels<V>(x, factors, weight, panels, outputs, sums);
            },
            store);
    }
    const auto pack_part = [&](Range columns, Range depths, float* to) {
        if (out_in)
            widen_rows<V>(weight, columns, depths,
                          [&](Stored<F32> part) { pack<V>(part, depths.size(), columns.size(), to); });
        else
            widen_rows<V>(weight, depths, columns, [&](Stored<F32> part) {
                pack_transposed<V>(part, depths.size(), columns.size(), to);
            });
    };
    multiply_in_blocks<V>(x, weight.out, pack_part, store);
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
    if (weight.rows_in_panels > 0 || block_elements(weight.dtype) > 1)
        return product_of_panels<V>(x, weight, store);
    const auto of = [&]<class E>(E) {
        product<V>(x, Stored<E>{weight.data, weight.row_elements()}, weight.layout, y.cols, store);
    };
    switch (weight.dtype) {
        case DType::f16: return of(F16{});
        case DType::bf16: return of(Bf16{});
        default: return of(F32{});
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
