// Packs B [depth, cols] into panels [depth, panel width], so that the inner loop of a product reads it in
// order. Columns beyond the last are zero.
#pragma once

#include "kernels/simd/outside.hpp"
#include "kernels/simd/vector.hpp"
#include "tensor/dtype.hpp"

namespace attn::simd {

template <class V>
constexpr Index panel_width = V::Lanes::panel_vectors * V::width;

template <class V>
constexpr Index packed_size(Index depth, Index cols) {
    return depth * round_up(cols, panel_width<V>);
}

// The element types that a matrix may have.
struct F32 {
    static constexpr DType dtype = DType::f32;
    static constexpr Index bytes = 4;
    template <class V>
    static V load(const std::byte* p) {
        V v;
        __builtin_memcpy(&v, p, sizeof v);
        return v;
    }
};
struct F16 {
    static constexpr DType dtype = DType::f16;
    static constexpr Index bytes = 2;
    template <class V>
    static V load(const std::byte* p) {
        return V::load_f16(p);
    }
};
struct Bf16 {
    static constexpr DType dtype = DType::bf16;
    static constexpr Index bytes = 2;
    template <class V>
    static V load(const std::byte* p) {
        return V::load_bf16(p);
    }
};

// A row-major matrix of any element type and alignment.
template <class E>
struct Stored {
    using Element = E;
    const std::byte* data;
    Index row_stride;  // elements

    const std::byte* at(Index row, Index column) const {
        return data + (row * row_stride + column) * E::bytes;
    }
    template <class V>
    V load(Index row, Index column) const {
        return E::template load<V>(at(row, column));
    }
    // Loads the first `count` elements; the other lanes are 0.
    template <class V>
    V load(Index row, Index column, Index count) const {
        std::byte bytes[V::width * E::bytes]{};
        __builtin_memcpy(bytes, at(row, column), static_cast<std::size_t>(count * E::bytes));
        return E::template load<V>(bytes);
    }
    Stored from(Index row, Index column) const { return {at(row, column), row_stride}; }
};

inline Stored<F32> stored(ConstMatrix m) {
    return {reinterpret_cast<const std::byte*>(m.data), m.row_stride};
}

// b [depth, cols].
template <class V, class E>
void pack(Stored<E> b, Index depth, Index cols, float* to) {
    constexpr Index width = panel_width<V>;
    const Index whole = cols / width;
    for (Index k = 0; k < depth; ++k) {
        float* row = to + k * width;
        for (Index p = 0; p < whole; ++p)
            for (Index v = 0; v < width; v += V::width)
                b.template load<V>(k, p * width + v).store(row + p * depth * width + v);
        if (whole * width == cols) continue;
        for (Index v = 0, column = whole * width; v < width; v += V::width, column += V::width) {
            const Index left = cols - column;
            const V values = left >= V::width ? b.template load<V>(k, column)
                             : left > 0       ? b.template load<V>(k, column, left)
                                              : V::zero();
            values.store(row + whole * depth * width + v);
        }
    }
}

// b is [cols, depth]; blocks of width × width elements are transposed in registers.
template <class V, class E>
void pack_transposed(Stored<E> b, Index depth, Index cols, float* to) {
    constexpr Index width = panel_width<V>;
    for (Index column = 0; column < round_up(cols, width); column += V::width) {
        float* panel = to + column / width * width * depth + column % width;
        const Index count = least(V::width, cols - column);  // may be negative
        for (Index k = 0; k < depth; k += V::width) {
            const Index steps = least(V::width, depth - k);
            V block[V::width];
            for (Index i = 0; i < V::width; ++i)
                block[i] = i >= count          ? V::zero()
                           : steps == V::width ? b.template load<V>(column + i, k)
                                               : b.template load<V>(column + i, k, steps);
            V::transpose(block);
            if (steps == V::width)
                for (Index i = 0; i < V::width; ++i) block[i].store(panel + (k + i) * width);
            else
                for (Index i = 0; i < steps; ++i) block[i].store(panel + (k + i) * width);
        }
    }
}

}  // namespace attn::simd
