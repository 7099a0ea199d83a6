// Computes C = factor · A · B or C += A · B, with B in panels and C held in registers, tile_rows
// rows × one panel at a time.
//
// Every element of C is summed in the order of the inner index, in blocks of 256, each step of a block one
// fma, whatever else is in the call. So a row computed alone, or by another path of these kernels, has the
// same bits.
#pragma once

#include "kernels/simd/panels.hpp"

namespace attn::simd {

// This many rows of B are multiplied at a time: that much of a panel stays in the first-level cache, and long
// sums lose less accuracy when they are made of shorter ones.
inline constexpr Index depth_block = 256;

enum class Write { over, added };

// A lies in memory as [rows, depth] or, turned, as [depth, rows].
enum class Lies { straight, turned };

inline constexpr float one = 1;

// Sums the products of some rows with a panel, from zero: a is [rows, depth] or turned.
template <class V, Lies lies, int rows>
[[gnu::always_inline]] inline void sum_tile(const float* a, Index a_stride, const float* panel, Index depth,
                                            V (&sums)[rows][V::Lanes::panel_vectors]) {
    constexpr int vectors = V::Lanes::panel_vectors;
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) sums[r][v] = V::zero();
    for (Index k = 0; k < depth; ++k, panel += vectors * V::width) {
        V b[vectors];
        for (int v = 0; v < vectors; ++v) b[v] = V::load(panel + v * V::width);
        for (int r = 0; r < rows; ++r) {
            const V x = V::broadcast(lies == Lies::straight ? a[r * a_stride + k] : a[k * a_stride + r]);
            for (int v = 0; v < vectors; ++v) sums[r][v] = V::fma(x, b[v], sums[r][v]);
        }
    }
}

// c is [rows, panel width]. The factor stays in memory because the sums
// leave no register for it.
template <class V, Write write, Lies lies, int rows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, Index a_stride, const float* panel,
                                                 Index depth, float* c, Index c_stride, const float* factor) {
    constexpr int vectors = V::Lanes::panel_vectors;
    V sums[rows][vectors];
    sum_tile<V, lies, rows>(a, a_stride, panel, depth, sums);
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) {
            float* to = c + r * c_stride + v * V::width;
            (write == Write::added ? V::load(to) + sums[r][v] : sums[r][v] * V::broadcast(*factor)).store(to);
        }
}

// Multiplies one panel: a [n, depth] or turned, c [n, cols], cols <= panel width.
template <class V, Write write, Lies lies, int rows = V::Lanes::tile_rows>
void multiply_panel(const float* a, Index a_stride, Index n, const float* panel, Index depth, float* c,
                    Index c_stride, Index cols, const float* factor) {
    constexpr Index width = panel_width<V>;
    const Index a_step = lies == Lies::straight ? rows * a_stride : rows;
    for (; n >= rows; n -= rows, a += a_step, c += rows * c_stride) {
        if (cols == width) {
            multiply_tile<V, write, lies, rows>(a, a_stride, panel, depth, c, c_stride, factor);
            continue;
        }
        float part[rows * width]{};
        const auto bytes = static_cast<std::size_t>(cols) * sizeof(float);
        if (write == Write::added)
            for (int r = 0; r < rows; ++r) __builtin_memcpy(part + r * width, c + r * c_stride, bytes);
        multiply_tile<V, write, lies, rows>(a, a_stride, panel, depth, part, width, factor);
        for (int r = 0; r < rows; ++r) __builtin_memcpy(c + r * c_stride, part + r * width, bytes);
    }
    if constexpr (rows > 1)
        if (n > 0)
            multiply_panel<V, write, lies, rows - 1>(a, a_stride, n, panel, depth, c, c_stride, cols, factor);
}

// a is [rows, depth] or turned, c is [rows, cols]. b is packed [depth_of_b, c.cols]; only its first `depth`
// rows take part. The factor must be 1 if the product is added to c or has a depth of more than 256.
template <class V, Write write, Lies lies = Lies::straight>
void multiply(ConstMatrix a, const float* b, Index depth_of_b, MatrixView<float> c,
              const float& factor = one) {
    constexpr Index width = panel_width<V>;
    constexpr bool straight = lies == Lies::straight;
    const Index rows = straight ? a.rows : a.cols, depth = straight ? a.cols : a.rows;
    for (Index column = 0; column < c.cols; column += width, b += depth_of_b * width) {
        const Index cols = least(width, c.cols - column);
        float* to = c.data + column;
        multiply_panel<V, write, lies>(a.data, a.row_stride, rows, b, least(depth_block, depth), to,
                                       c.row_stride, cols, &factor);
        for (Index k = depth_block; k < depth; k += depth_block)
            multiply_panel<V, Write::added, lies>(straight ? a.data + k : a.row(k), a.row_stride, rows,
                                                  b + k * width, least(depth_block, depth - k), to,
                                                  c.row_stride, cols, &one);
    }
}

}  // namespace attn::simd
