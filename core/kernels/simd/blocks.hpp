// The layouts of weights in blocks, taken apart 16 elements at a time as tensor/blocks.cpp does it. A value
// is scale · quant, plus an offset where a block has any, in f32.
#pragma once

#include "kernels/simd/lanes128.hpp"
#include "kernels/simd/vector.hpp"
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

// The part of a block that quants<V, i>(block) are, for elements 16 i to 16 i + 15; its scale is number i ·
// parts / (elements / 16), and so is its offset.

// Blocks of 32 begin with their scale, a half, and after it their offset, if they have one.
template <Index size, bool offset>
struct BlockOf32 {
    static constexpr Index elements = 32, bytes = size, parts = 1;
    static constexpr bool has_offsets = offset;
};

// The low nibbles are the first 16 elements.
template <int i>
[[gnu::always_inline]] inline Quants nibbles_at(const std::byte* p) {
    const Quants q = quants_at(p);
    return i == 0 ? q & 15 : q >> 4;
}

struct Q4_0 : BlockOf32<18, false> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return nibbles_at<i>(p + 2) - 8;
    }
};

struct Q4_1 : BlockOf32<20, true> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return nibbles_at<i>(p + 4);
    }
};

struct Q5_0 : BlockOf32<22, false> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return (nibbles_at<i>(p + 6) | fifth_bits(p + 2 + 2 * i)) - 16;
    }
};

struct Q5_1 : BlockOf32<24, true> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return nibbles_at<i>(p + 8) | fifth_bits(p + 4 + 2 * i);
    }
};

struct Q8_0 : BlockOf32<34, false> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return quants_at(p + 2 + 16 * i);
    }
};

struct Iq4Nl : BlockOf32<18, false> {
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        constexpr Quants values = __builtin_bit_cast(
            Quants, SignedQuants{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113});
        return V::Lanes::look_up(values, nibbles_at<i>(p + 2));
    }
};

// Blocks of 256 have scales, and perhaps offsets, of their parts.
template <Index size, Index count, bool offset>
struct BlockOf256 {
    static constexpr Index elements = 256, bytes = size, parts = count;
    static constexpr bool has_offsets = offset;
};

struct Q2K : BlockOf256<84, 16, true> {
    template <class V>
    [[gnu::always_inline]] static void scales(const std::byte* p, float* scale, float* offset) {
        const Quants both = quants_at(p);
        scale_quants<V>(both & 15, half_at<V>(p + 80), scale);
        scale_quants<V>(both >> 4, V::zero() - half_at<V>(p + 82), offset);
    }
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        return quants_at(p + 16 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3;
    }
};

struct Q3K : BlockOf256<110, 16, false> {
    // The low nibbles of 8 bytes are the first 8 scales; two more bits of each lie in 4 bytes.
    template <class V>
    [[gnu::always_inline]] static void scales(const std::byte* p, float* scale, float*) {
        std::uint64_t nibbles;
        std::uint32_t upper;
        __builtin_memcpy(&nibbles, p + 96, sizeof nibbles);
        __builtin_memcpy(&upper, p + 104, sizeof upper);
        using Pair [[gnu::vector_size(16)]] = std::uint64_t;
        using Four [[gnu::vector_size(16)]] = std::uint32_t;
        const Quants four = __builtin_bit_cast(Quants, Pair{nibbles, nibbles >> 4}) & 15,
                     two = __builtin_bit_cast(Quants, Four{upper, upper >> 2, upper >> 4, upper >> 6}) & 3;
        scale_quants<V>((four | two << 4) - 32, half_at<V>(p + 108), scale);
    }
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        const Quants low = quants_at(p + 32 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3,
                     high = quants_at(p + i % 2 * 16) >> (i / 2) & 1;
        return (low | high << 2) - 4;
    }
};

// The eight scales and minima of 6 bits each that Q4_K and Q5_K keep in 12 bytes, times d and −dmin.
template <class V>
[[gnu::always_inline]] inline void six_bit_scales(const std::byte* p, V d, V minus_dmin, float* scale,
                                                  float* offset) {
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

template <bool fifth>
struct Q4OrQ5K : BlockOf256<fifth ? 176 : 144, 8, true> {
    template <class V>
    [[gnu::always_inline]] static void scales(const std::byte* p, float* scale, float* offset) {
        six_bit_scales<V>(p + 4, half_at<V>(p), V::zero() - half_at<V>(p + 2), scale, offset);
    }
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        Quants q = quants_at(p + (fifth ? 48 : 16) + i / 4 * 32 + i % 2 * 16) >> (i % 4 / 2 * 4) & 15;
        if constexpr (fifth) q |= (quants_at(p + 16 + i % 2 * 16) >> (i / 2) & 1) << 4;
        return q;
    }
};

struct Q6K : BlockOf256<210, 16, false> {
    template <class V>
    [[gnu::always_inline]] static void scales(const std::byte* p, float* scale, float*) {
        scale_quants<V>(quants_at(p + 192), half_at<V>(p + 208), scale);
    }
    template <class V, int i>
    [[gnu::always_inline]] static Quants quants(const std::byte* p) {
        const Quants four = quants_at(p + i / 8 * 64 + i % 4 * 16) >> (i % 8 / 4 * 4) & 15,
                     two = quants_at(p + 128 + i / 8 * 32 + i % 2 * 16) >> (i % 8 / 2 * 2) & 3;
        return (four | two << 4) - 32;
    }
};

// Returns f<B>() for the layout B of a type in blocks.
template <class F>
auto for_blocks(DType dtype, F f) {
    switch (dtype) {
        case DType::q4_0: return f.template operator()<Q4_0>();
        case DType::q4_1: return f.template operator()<Q4_1>();
        case DType::q5_0: return f.template operator()<Q5_0>();
        case DType::q5_1: return f.template operator()<Q5_1>();
        case DType::q8_0: return f.template operator()<Q8_0>();
        case DType::iq4_nl: return f.template operator()<Iq4Nl>();
        case DType::q2_k: return f.template operator()<Q2K>();
        case DType::q3_k: return f.template operator()<Q3K>();
        case DType::q4_k: return f.template operator()<Q4OrQ5K<false>>();
        case DType::q5_k: return f.template operator()<Q4OrQ5K<true>>();
        default: return f.template operator()<Q6K>();
    }
}

}  // namespace attn::simd
