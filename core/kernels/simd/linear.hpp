// Computes y = x W + bias for any layout and element type of W, and Q Kᵀ, which is the same with K as a W
// [out, in].
#pragma once

#include "kernels/simd/columns.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
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

// Computes a · b in parts, one per task. b(columns, depths, to) packs a piece of B, and each finished part
// goes to store(sums, first row, first column). The sums of a part are contiguous, whatever the strides of
// their destination: rows a multiple of 4 KB apart would all map to the same set of the cache.
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

// Where element (depth, column) of a packed B lies.
template <class V>
constexpr Index packed_place(Index depth_of_b, Index depth, Index column) {
    constexpr Index width = panel_width<V>;
    return column / width * width * depth_of_b + depth * width + column % width;
}

// A panel by itself, [depth, 16].
template <class V>
WidenedPlace side_by_side(float* to) {
    return {to, panel_rows, panel_width<V>};
}

// Packs a B whose columns are rows of weights: those of a W [out, in].
template <class V>
void pack_outputs(const WeightView& weight, const WeightPanels<V>& panels, Range outputs, Range inputs,
                  float* to) {
    const Index depth = inputs.size();
    if (outputs.size() % panel_width<V> != 0)  // the columns beyond the last
        fill_zero(to + packed_place<V>(depth, 0, outputs.size() / panel_width<V> * panel_width<V>),
                  depth * panel_width<V>);
    const Scratch wide(panel_rows * depth);
    const Range stored{weight.first_row + outputs.begin, weight.first_row + outputs.end};
    Index row = stored.begin;
    while (row < least(stored.end, weight.rows_in_panels)) {
        const Index before = row % panel_rows, column = row - stored.begin,
                    count = least(panel_rows - before, stored.end - row);
        row += count;
        if (count == panel_rows && column % panel_rows == 0) {
            panels.widen(row / panel_rows - 1, inputs,
                         {to + packed_place<V>(depth, 0, column), panel_width<V>, depth * panel_width<V>});
            continue;
        }
        panels.widen((row - 1) / panel_rows, inputs, side_by_side<V>(wide.data));
        for (Index i = 0; i < count; ++i) {
            float* part = to + packed_place<V>(depth, 0, column + i);
            for (Index k = 0; k < depth; ++k)
                part[k * panel_width<V>] = wide.data[k * panel_rows + before + i];
        }
    }
    for (; row < stored.end; ++row) {
        read_inputs(weight, row - weight.first_row, inputs, wide.data);
        float* part = to + packed_place<V>(depth, 0, row - stored.begin);
        for (Index k = 0; k < depth; ++k) part[k * panel_width<V>] = wide.data[k];
    }
}

// Packs a B whose rows are rows of weights: those of a matrix [out, in] on the way back from outputs to
// inputs.
template <class V>
void pack_back(const WeightView& weight, const WeightPanels<V>& panels, Range columns, Range depths,
               float* to) {
    const Index depth = depths.size(), block = panels.block(), last = weight.row_elements();
    if (columns.size() % panel_width<V> != 0)
        fill_zero(to + packed_place<V>(depth, 0, columns.size() / panel_width<V> * panel_width<V>),
                  depth * panel_width<V>);
    // Whole blocks of inputs, of which the columns are a part.
    const Range inputs{columns.begin / block * block, least(round_up(columns.end, block), last)};
    const Scratch wide(panel_rows * round_up(inputs.size(), V::width)), own(columns.size());
    const Range stored{weight.first_row + depths.begin, weight.first_row + depths.end};
    Index row = stored.begin;
    while (row < least(stored.end, weight.rows_in_panels)) {
        const Index before = row % panel_rows, count = least(panel_rows - before, stored.end - row);
        panels.widen(row / panel_rows, inputs, side_by_side<V>(wide.data));
        const float* first = wide.data + (columns.begin - inputs.begin) * panel_rows;
        Index c = 0;
        if (count == panel_rows)
            for (; c + V::width <= columns.size(); c += V::width)
                for (Index r = 0; r < panel_rows; r += V::width) {
                    V square[V::width];
                    for (Index i = 0; i < V::width; ++i)
                        square[i] = V::load(first + (c + i) * panel_rows + r);
                    V::transpose(square);
                    for (Index i = 0; i < V::width; ++i)
                        square[i].store(to + packed_place<V>(depth, row - stored.begin + r + i, c));
                }
        for (; c < columns.size(); ++c)
            for (Index r = 0; r < count; ++r)
                to[packed_place<V>(depth, row - stored.begin + r, c)] = first[c * panel_rows + before + r];
        row += count;
    }
    for (; row < stored.end; ++row) {
        read_inputs(weight, row - weight.first_row, columns, own.data);
        for (Index c = 0; c < columns.size(); ++c)
            to[packed_place<V>(depth, row - stored.begin, c)] = own.data[c];
    }
}

// Computes x W for a W that lies in panels, or whose rows are in blocks.
template <class V, class Store>
void product_of_panels(ConstMatrix x, const WeightView& weight, Store store) {
    WeightPanels<V> panels(weight);
    const bool out_in = weight.layout == WeightView::Layout::out_in;
    if (x.rows == 1 && out_in) {
        const bool small = V::width == 4 && weight.dtype == DType::f16 && weight.finite;
        const Scratch scaled(small ? x.cols : 0);
        const float *large = small ? factors_of_halves<V>(x.data, x.cols, scaled.data) : nullptr,
                    *factors = large ? large : x.data;
        if (large) panels.take_large_factors();
        return vector_times_columns(
            weight.out,
            [&](Range outputs, float* sums) {
                add_vector_times_panels<V>(x, factors, weight, panels, outputs, sums);
            },
            store);
    }
    multiply_in_blocks<V>(
        x, weight.out,
        [&](Range columns, Range depths, float* to) {
            out_in ? pack_outputs<V>(weight, panels, columns, depths, to)
                   : pack_back<V>(weight, panels, columns, depths, to);
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
