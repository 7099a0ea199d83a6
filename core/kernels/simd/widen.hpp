// Widens weights of any type to f32, with the bits of tensor/blocks.cpp.
#pragma once

#include "kernels/simd/blocks.hpp"
#include "kernels/simd/panels.hpp"

namespace attn::simd {

// Widens whole blocks.
template <class V, class B>
void widen_blocks(const std::byte* from, Index count, float* to) {
    for (Index k = 0; k < count; k += B::elements, from += B::bytes, to += B::elements) {
        const auto widen = [&]<int i>(V scale, auto... offset) {
            scale_quants<V>(B::template quants<V, i>(from), scale, to + 16 * i, offset...);
        };
        if constexpr (B::elements == 32) {
            const V scale = half_at<V>(from);
            unrolled<2>([&]<int i> {
                if constexpr (B::has_offsets)
                    widen.template operator()<i>(scale, half_at<V>(from + 2));
                else
                    widen.template operator()<i>(scale);
            });
        } else {
            float scale[16], offset[16];
            B::template scales<V>(from, scale, offset);
            unrolled<16>([&]<int i> {
                constexpr int part = i * B::parts / 16;
                if constexpr (B::has_offsets)
                    widen.template operator()<i>(V::broadcast(scale[part]), V::broadcast(offset[part]));
                else
                    widen.template operator()<i>(V::broadcast(scale[part]));
            });
        }
    }
}

template <class V, class E>
void widen_elements(const std::byte* from, Index count, float* to) {
    const Stored<E> row{from, 0};
    Index i = 0;
    for (; i + V::width <= count; i += V::width) row.template load<V>(0, i).store(to + i);
    if (i < count) row.template load<V>(0, i, count - i).store(to + i, count - i);
}

// How the rows of a matrix [out, in] widen, whatever their type.
template <class V>
class Widening {
  public:
    explicit Widening(DType dtype)
        : widen_(find(dtype)),
          block_(block_elements(dtype)),
          block_bytes_(static_cast<Index>(byte_size(dtype))) {}

    // The bytes of whole blocks.
    Index bytes(Index elements) const { return elements / block_ * block_bytes_; }
    void operator()(const std::byte* from, Index count, float* to) const { widen_(from, count, to); }

  private:
    using Function = void (*)(const std::byte* from, Index count, float* to);

    static Function find(DType dtype) {
        switch (dtype) {
            case DType::f16: return widen_elements<V, F16>;
            case DType::bf16: return widen_elements<V, Bf16>;
            case DType::f32: return widen_elements<V, F32>;
            default: return for_blocks(dtype, []<class B>() -> Function { return widen_blocks<V, B>; });
        }
    }

    Function widen_;
    Index block_, block_bytes_;
};

// The rows of a W [out, in], of any type.
template <class V>
struct WeightRows {
    const std::byte* data;
    DType dtype;
    Index row_bytes;
    Widening<V> widening;

    WeightRows(const std::byte* at, DType type, Index row_stride) : data(at), dtype(type), widening(type) {
        row_bytes = widening.bytes(row_stride);
    }

    // The bytes from an input that begins a block.
    const std::byte* at(Index row, Index input) const {
        return data + row * row_bytes + widening.bytes(input);
    }
    // Reads a byte of each cache line, in the order of memory, which machines foresee: up to four times as
    // fast as reading the same rows a piece at a time.
    void read(Range rows, Index inputs) const {
        for (Index row = rows.begin; row < rows.end; ++row) {
            const volatile std::byte* line = at(row, 0);
            for (Index i = 0; i < widening.bytes(inputs); i += 64) static_cast<void>(line[i]);
        }
    }
    // Rows [rows, depths] end to end.
    void widen(Range rows, Range depths, float* to) const {
        for (Index row = rows.begin; row < rows.end; ++row, to += depths.size())
            widening(at(row, depths.begin), depths.size(), to);
    }
};

}  // namespace attn::simd
