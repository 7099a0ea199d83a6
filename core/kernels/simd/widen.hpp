// Widens weights of any type to f32. Blocks are taken apart 16 elements at a time, with the layouts and the operations
// of tensor/blocks.cpp, so that values have the same bits.
#pragma once

#include "kernels/simd/lanes128.hpp"
#include "kernels/simd/panels.hpp"
#include "tensor/dtype.hpp"

namespace attn::simd {

[[gnu::always_inline]] inline Quants quants_at(const std::byte* p) {
    Quants q;
    __builtin_memcpy(&q, p, sizeof q);
    return q;
}

template <class V>
[[gnu::always_inline]] inline V half_at(const std::byte* p) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return {V::Lanes::widen_f16(typename V::Halves{} + bits)};
}

// Stores scale · quant of 16 signed quants, plus an offset if there is one.
template <class V, class... Offset>
[[gnu::always_inline]] inline void scale_quants(Quants q, V scale, float* to, Offset... offset) {
    typename V::Floats values[16 / V::width];
    V::Lanes::widen_quants(q, values);
    for (Index i = 0; i < 16 / V::width; ++i)
        ((scale * V{values[i]}) + ... + offset).store(to + i * V::width);
}

// Calls f<0>() to f<count − 1>(), so that shifts are by constants.
template <int count, class F>
[[gnu::always_inline]] inline void unrolled(F f) {
    if constexpr (count > 0) {
        unrolled<count - 1>(f);
        f.template operator()<count - 1>();
    }
}

// 16 where the bit of an element is set, of 16 elements whose bits lie in two bytes.
[[gnu::always_inline]] inline Quants fifth_bits(const std::byte* p) {
    const Quants low = Quants{} + static_cast<std::uint8_t>(p[0]),
                 high = Quants{} + static_cast<std::uint8_t>(p[1]),
                 bytes = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21,
                                                 22, 23);
    constexpr Quants each{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    return __builtin_bit_cast(Quants, (bytes & each) != 0) & 16;
}

// Blocks of 32, whose low nibbles are the first 16 elements.

template <class V>
void widen_q4_0(const std::byte* p, float* to) {
    const Quants q = quants_at(p + 2);
    const V scale = half_at<V>(p);
    scale_quants<V>((q & 15) - 8, scale, to);
    scale_quants<V>((q >> 4) - 8, scale, to + 16);
}

template <class V>
void widen_q4_1(const std::byte* p, float* to) {
    const Quants q = quants_at(p + 4);
    const V scale = half_at<V>(p), offset = half_at<V>(p + 2);
    scale_quants<V>(q & 15, scale, to, offset);
    scale_quants<V>(q >> 4, scale, to + 16, offset);
}

template <class V>
void widen_q5_0(const std::byte* p, float* to) {
    const Quants q = quants_at(p + 6);
    const V scale = half_at<V>(p);
    scale_quants<V>(((q & 15) | fifth_bits(p + 2)) - 16, scale, to);
    scale_quants<V>(((q >> 4) | fifth_bits(p + 4)) - 16, scale, to + 16);
}

template <class V>
void widen_q5_1(const std::byte* p, float* to) {
    const Quants q = quants_at(p + 8);
    const V scale = half_at<V>(p), offset = half_at<V>(p + 2);
    scale_quants<V>((q & 15) | fifth_bits(p + 4), scale, to, offset);
    scale_quants<V>((q >> 4) | fifth_bits(p + 6), scale, to + 16, offset);
}

template <class V>
void widen_q8_0(const std::byte* p, float* to) {
    const V scale = half_at<V>(p);
    scale_quants<V>(quants_at(p + 2), scale, to);
    scale_quants<V>(quants_at(p + 18), scale, to + 16);
}

template <class V>
void widen_iq4_nl(const std::byte* p, float* to) {
    const Quants q = quants_at(p + 2);
    const V scale = half_at<V>(p);
    constexpr Quants values = __builtin_bit_cast(
        Quants, SignedQuants{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113});
    scale_quants<V>(V::Lanes::look_up(values, q & 15), scale, to);
    scale_quants<V>(V::Lanes::look_up(values, q >> 4), scale, to + 16);
}

// Blocks of 256, 16 elements at a time: f<i>() for those from 16 · i on. Scales and offsets are of 16 or 32 elements.

template <class V>
void widen_q2_k(const std::byte* p, float* to) {
    float scale[16], offset[16];
    const Quants both = quants_at(p);
    scale_quants<V>(both & 15, half_at<V>(p + 80), scale);
    scale_quants<V>(both >> 4, V::zero() - half_at<V>(p + 82), offset);
    unrolled<16>([&]<int i> {
        const Quants q = quants_at(p + 16 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3;
        scale_quants<V>(q, V::broadcast(scale[i]), to + 16 * i, V::broadcast(offset[i]));
    });
}

template <class V>
void widen_q3_k(const std::byte* p, float* to) {
    // The low nibbles of 8 bytes are the first 8 scales; two more bits of each lie in 4 bytes.
    std::uint64_t nibbles;
    std::uint32_t upper;
    __builtin_memcpy(&nibbles, p + 96, sizeof nibbles);
    __builtin_memcpy(&upper, p + 104, sizeof upper);
    using Pair [[gnu::vector_size(16)]] = std::uint64_t;
    using Four [[gnu::vector_size(16)]] = std::uint32_t;
    const Quants four = __builtin_bit_cast(Quants, Pair{nibbles, nibbles >> 4}) & 15,
                 two = __builtin_bit_cast(Quants, Four{upper, upper >> 2, upper >> 4, upper >> 6}) & 3;
    float scale[16];
    scale_quants<V>((four | two << 4) - 32, half_at<V>(p + 108), scale);
    unrolled<16>([&]<int i> {
        const Quants low = quants_at(p + 32 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3,
                     high = quants_at(p + i % 2 * 16) >> (i / 2) & 1;
        scale_quants<V>((low | high << 2) - 4, V::broadcast(scale[i]), to + 16 * i);
    });
}

// The eight scales and minima of 6 bits each that Q4_K and Q5_K keep in 12 bytes, times d and −dmin.
template <class V>
void six_bit_scales(const std::byte* p, V d, V minus_dmin, float* scale, float* offset) {
    std::uint32_t a, b, c;
    __builtin_memcpy(&a, p, sizeof a);
    __builtin_memcpy(&b, p + 4, sizeof b);
    __builtin_memcpy(&c, p + 8, sizeof c);
    constexpr std::uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
    using Four [[gnu::vector_size(16)]] = std::uint32_t;
    const Four both{a & six, (c & four) | (a >> 2 & two), b & six, (c >> 4 & four) | (b >> 2 & two)};
    float scales[16], offsets[16];
    scale_quants<V>(__builtin_bit_cast(Quants, both), d, scales);
    scale_quants<V>(__builtin_bit_cast(Quants, both), minus_dmin, offsets);
    __builtin_memcpy(scale, scales, 8 * sizeof(float));
    __builtin_memcpy(offset, offsets + 8, 8 * sizeof(float));
}

template <class V, bool fifth>
void widen_q4_or_q5_k(const std::byte* p, float* to) {
    float scale[8], offset[8];
    six_bit_scales<V>(p + 4, half_at<V>(p), V::zero() - half_at<V>(p + 2), scale, offset);
    unrolled<16>([&]<int i> {
        Quants q = quants_at(p + (fifth ? 48 : 16) + i / 4 * 32 + i % 2 * 16) >> (i % 4 / 2 * 4) & 15;
        if constexpr (fifth) q |= (quants_at(p + 16 + i % 2 * 16) >> (i / 2) & 1) << 4;
        scale_quants<V>(q, V::broadcast(scale[i / 2]), to + 16 * i, V::broadcast(offset[i / 2]));
    });
}

template <class V>
void widen_q6_k(const std::byte* p, float* to) {
    float scale[16];
    scale_quants<V>(quants_at(p + 192), half_at<V>(p + 208), scale);
    unrolled<16>([&]<int i> {
        const Quants four = quants_at(p + i / 8 * 64 + i % 4 * 16) >> (i % 8 / 4 * 4) & 15,
                     two = quants_at(p + 128 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3;
        scale_quants<V>((four | two << 4) - 32, V::broadcast(scale[i]), to + 16 * i);
    });
}

// Widens whole blocks, `elements` each.
template <void (*widen)(const std::byte*, float*)>
void widen_each(const std::byte* from, Index elements, Index bytes, Index count, float* to) {
    for (Index i = 0; i < count; i += elements, from += bytes) widen(from, to + i);
}

template <class V, class E>
void widen_elements(const std::byte* from, Index, Index, Index count, float* to) {
    const Stored<E> row{from, 0};
    Index i = 0;
    for (; i + V::width <= count; i += V::width) row.template load<V>(0, i).store(to + i);
    if (i < count) row.template load<V>(0, i, count - i).store(to + i, count - i);
}

// Where no instruction widens halves, it is worth a look whether all of them are finite.
template <class V>
void widen_halves(const std::byte* from, Index, Index, Index count, float* to) {
    using Halves = typename V::Lanes::EightHalves;
    using Signed [[gnu::vector_size(16)]] = std::int16_t;
    Signed largest{};
    Index i = 0;
    for (; i + 8 <= count; i += 8) {
        Halves halves;
        __builtin_memcpy(&halves, from + 2 * i, sizeof halves);
        const Signed magnitude = __builtin_bit_cast(Signed, halves & 0x7fff);
        largest = magnitude > largest ? magnitude : largest;
        typename V::Floats wide[2];
        V::Lanes::widen_finite_f16(halves, wide);
        V{wide[0]}.store(to + i);
        V{wide[1]}.store(to + i + 4);
    }
    bool finite = true;
    for (int lane = 0; lane < 8; ++lane) finite &= largest[lane] < 0x7c00;
    if (!finite) i = 0;
    widen_elements<V, F16>(from + 2 * i, 1, 2, count - i, to + i);
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
    void operator()(const std::byte* from, Index count, float* to) const {
        widen_(from, block_, block_bytes_, count, to);
    }

  private:
    using Function = void (*)(const std::byte* from, Index elements, Index bytes, Index count, float* to);

    static Function find(DType dtype) {
        switch (dtype) {
            case DType::q4_0: return widen_each<widen_q4_0<V>>;
            case DType::q4_1: return widen_each<widen_q4_1<V>>;
            case DType::q5_0: return widen_each<widen_q5_0<V>>;
            case DType::q5_1: return widen_each<widen_q5_1<V>>;
            case DType::q8_0: return widen_each<widen_q8_0<V>>;
            case DType::iq4_nl: return widen_each<widen_iq4_nl<V>>;
            case DType::q2_k: return widen_each<widen_q2_k<V>>;
            case DType::q3_k: return widen_each<widen_q3_k<V>>;
            case DType::q4_k: return widen_each<widen_q4_or_q5_k<V, false>>;
            case DType::q5_k: return widen_each<widen_q4_or_q5_k<V, true>>;
            case DType::q6_k: return widen_each<widen_q6_k<V>>;
            case DType::f16:
                if constexpr (V::width == 4)
                    return widen_halves<V>;
                else
                    return widen_elements<V, F16>;
            case DType::bf16: return widen_elements<V, Bf16>;
            default: return widen_elements<V, F32>;
        }
    }

    Function widen_;
    Index block_, block_bytes_;
};

}  // namespace attn::simd
