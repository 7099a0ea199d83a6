// Reduces the blocks of a map's cells to their strongest cell, their sum and their count: first down the
// columns, several vectors side by side so that none waits for the one before, then across each block.
#pragma once

#include "kernels/simd/elementwise.hpp"

namespace attn::simd {

// Holds the results of each column over the rows of a block. Columns beyond the last are as if masked.
struct ColumnPools {
    Index padded;
    Scratch memory;
    float *most, *least, *sum, *count;

    explicit ColumnPools(Index columns)
        : padded(columns),
          memory(4 * padded),
          most(memory.data),
          least(most + padded),
          sum(least + padded),
          count(sum + padded) {}
};

inline constexpr float pool_table[] = {-__FLT_MAX__,  // only −inf is lower
                                       __builtin_huge_valf(), 1};

template <class V>
using PoolConstants = Constants<V, std::size(pool_table)>;

template <class V, bool masked, bool is_signed, int vectors>
[[gnu::always_inline]] inline void pool_columns(const PoolConstants<V>& c, ConstMatrix cells, Index column,
                                                const ColumnPools& to) {
    V most[vectors], least[vectors], sum[vectors], count[vectors];
    for (int v = 0; v < vectors; ++v) {
        most[v] = V::zero() - c[1];
        least[v] = c[1];
        sum[v] = count[v] = V::zero();
    }
    const Index left = attn::simd::least(V::width, cells.cols - column);
    const float* at = cells.data + column;
    for (Index r = 0; r < cells.rows; ++r, at += cells.row_stride)
        for (int v = 0; v < vectors; ++v) {
            V x = vectors > 1 ? V::load(at + v * V::width) : load_some<V>(at, left);
            most[v] = V::max(x, most[v]);
            if (is_signed) {
                const V shown = masked ? V::where_less(x, c[0], c[1], x) : x;
                least[v] = V::where_less(shown, least[v], shown, least[v]);
            }
            if (masked) {
                count[v] = count[v] + V::where_less(x, c[0], V::zero(), c[2]);
                x = V::where_less(x, c[0], V::zero(), x);
            }
            sum[v] = sum[v] + x;
        }
    const V all = V::broadcast(static_cast<float>(cells.rows));
    for (int v = 0; v < vectors; ++v) {
        const Index i = column + v * V::width;
        most[v].store(to.most + i);
        least[v].store(to.least + i);
        sum[v].store(to.sum + i);
        (masked ? count[v] : all).store(to.count + i);
    }
}

template <class V, bool masked, bool is_signed>
void pool_rows(ConstMatrix cells, const ColumnPools& to) {
    constexpr int together = 4;
    const PoolConstants<V> c(pool_table);
    Index column = 0;
    for (; column + together * V::width <= cells.cols; column += together * V::width)
        pool_columns<V, masked, is_signed, together>(c, cells, column, to);
    for (; column < cells.cols; column += V::width)
        pool_columns<V, masked, is_signed, 1>(c, cells, column, to);
    for (Index i = cells.cols; i < to.padded; ++i) {
        to.most[i] = -infinity;
        to.least[i] = infinity;
        to.sum[i] = to.count[i] = 0;
    }
}

struct Pooled {
    float most = -infinity, least = infinity, sum = 0, count = 0;
};

template <class V>
Pooled pool_across(const ColumnPools& from, Range columns) {
    Pooled p;
    if (columns.begin % V::width == 0 && columns.size() >= V::width) {
        V most = V::load(from.most + columns.begin), least = V::load(from.least + columns.begin),
          sum = V::load(from.sum + columns.begin), count = V::load(from.count + columns.begin);
        Index i = columns.begin + V::width;
        for (; i + V::width <= columns.end; i += V::width) {
            most = V::max(V::load(from.most + i), most);
            least = V::where_less(V::load(from.least + i), least, V::load(from.least + i), least);
            sum = sum + V::load(from.sum + i);
            count = count + V::load(from.count + i);
        }
        p = {most.largest(), -(V::zero() - least).largest(), sum.total(), count.total()};
        columns.begin = i;
    }
    for (Index i = columns.begin; i < columns.end; ++i) {
        p.most = from.most[i] > p.most ? from.most[i] : p.most;
        p.least = from.least[i] < p.least ? from.least[i] : p.least;
        p.sum += from.sum[i];
        p.count += from.count[i];
    }
    return p;
}

inline Index count_not_numbers(ConstMatrix cells, Range columns) {
    Index count = 0;
    for (Index r = 0; r < cells.rows; ++r)
        for (Index c = columns.begin; c < columns.end; ++c) count += __builtin_isnan(cells(r, c));
    return count;
}

template <class V>
void add_row_sums(ConstMatrix cells, double* to) {
    const PoolConstants<V> c(pool_table);
    for (Index r = 0; r < cells.rows; ++r)
        to[r] += sum<V>(cells.row(r), cells.cols, [&](V x) { return V::where_less(x, c[0], V::zero(), x); });
}

template <class V>
Index pool(const PoolCall& call) {
    const auto pool_block = call.may_be_masked
                                ? (call.is_signed ? pool_rows<V, true, true> : pool_rows<V, true, false>)
                                : (call.is_signed ? pool_rows<V, false, true> : pool_rows<V, false, false>);
    const Index cols = call.cells.cols;
    const ColumnPools columns(round_up(cols, V::width));
    Index not_numbers = 0;
    for (Index r = 0; r < call.strongest.rows; ++r) {
        const ConstMatrix cells = rows(call.cells, block(r, call.block_rows, call.cells.rows));
        pool_block(cells, columns);
        for (Index b = 0; b < call.strongest.cols; ++b) {
            const Range range = block(b, call.block_cols, cols);
            const Pooled p = pool_across<V>(columns, range);
            call.strongest(r, b) = !call.is_signed || p.most >= -p.least ? p.most : p.least;
            call.sum(r, b) = p.sum;
            call.count(r, b) = p.count;
            // The maxima ignore NaN; the sum does not.
            if (p.sum == p.sum) continue;
            const Index found = count_not_numbers(cells, range);
            if (found > 0) call.strongest(r, b) = __builtin_nanf("");
            not_numbers += found;
        }
        for (std::size_t j = 0; j < call.column_sums.size(); ++j)
            call.column_sums[j] += static_cast<double>(columns.sum[j]);
    }
    if (!call.row_sums.empty()) add_row_sums<V>(call.cells, call.row_sums.data());
    return not_numbers;
}

}  // namespace attn::simd
