// The layouts of weights in blocks, as they lie in panels (tensor/weights.hpp): vectors of words, each of
// which has the same four bytes of another row. A value is scale · quant, plus an offset where a block has
// any, in f32, as in tensor/blocks.cpp.
//
// Every function is a template over V, so that none is shared between instruction sets (lanes128.hpp).
#pragma once

#include "kernels/simd/lanes128.hpp"
#include "kernels/simd/vector.hpp"
#include "tensor/weights.hpp"

namespace attn::simd {

// How many vectors the rows of a panel are.
template <class V>
inline constexpr Index vectors = panel_rows / V::width;

// A constant that the compiler cannot see through, as in Constants.
template <class Words>
[[gnu::always_inline]] inline Words kept(const Words& constant) {
    const Words* p = &constant;
    asm("" : "+r"(p));
    return *p;
}

// Calls f<0>() to f<count − 1>(), so that shifts are by constants.
template <int count, class F>
[[gnu::always_inline]] constexpr void unrolled(F f) {
    if constexpr (count > 0) {
        unrolled<count - 1>(f);
        f.template operator()<count - 1>();
    }
}

// ---- Quants -----------------------------------------------------------------------------------------------

// quants<V, i>(p, group, j, v) are those of the inputs 16 (pattern · group + i) + 4 j and of the three after
// them, a byte each, for vector v of the rows of the panel's block at p. `pattern` is how many sixteens of
// inputs have code of their own, for their shifts. A word of four bytes of each row follows the other words
// of its field in steps of the panel, and the fields begin at sixteen times their places in a block.
template <class V>
[[gnu::always_inline]] inline typename V::Words words_at(const std::byte* p, Index byte, Index word,
                                                         Index v) {
    typename V::Words words;
    __builtin_memcpy(&words, p + panel_rows * (byte + 4 * word) + v * Index{sizeof words}, sizeof words);
    return words;
}

// Moves them as signed words, whose upper bits have to be masked: the compiler converts words that it knows
// to have no sign in another way, for which there is no instruction before AVX-512.
template <class V, int bits>
[[gnu::always_inline]] inline typename V::Words moved_right(typename V::Words words) {
    return __builtin_bit_cast(typename V::Words, __builtin_bit_cast(typename V::Ints, words) >> bits);
}

// The bits from `first` on of every byte that `number` has, moved to begin at `to`.
template <class V, unsigned number, int first, int to = 0>
[[gnu::always_inline]] inline typename V::Words bits_of_each(typename V::Words words) {
    static constexpr typename V::Words bits = typename V::Words{} + 0x01010101u * (number << to);
    if constexpr (first > to) words = moved_right<V, first - to>(words);
    if constexpr (first < to) words <<= to - first;
    return words & kept(bits);
}

// Less a number below 128 in each byte, whose bits must be fewer than seven.
template <class V, unsigned number>
[[gnu::always_inline]] inline typename V::Words less_in_each(typename V::Words words) {
    static constexpr typename V::Words high = typename V::Words{} + 0x80808080u,
                                       more = high - 0x01010101u * number;
    return (words + kept(more)) ^ kept(high);
}

// The low nibbles are the first 16 inputs.
template <class V, int i>
[[gnu::always_inline]] inline typename V::Words nibbles_at(const std::byte* p, Index byte, Index j, Index v) {
    return bits_of_each<V, 15, 4 * i>(words_at<V>(p, byte, j, v));
}

// Spreads four bits of 32 in a word to four bytes, as 16.
template <class V, int i>
[[gnu::always_inline]] inline typename V::Words fifth_bits(const std::byte* p, Index byte, Index j, Index v) {
    const typename V::Words four = words_at<V>(p, byte, 0, v) >> static_cast<unsigned>(16 * i + 4 * j) & 15u;
    return bits_of_each<V, 1, 4, 4>(four * (0x00204081u << 4));
}

template <class V>
[[gnu::always_inline]] inline V widened(typename V::Words words) {
    return {__builtin_convertvector(__builtin_bit_cast(typename V::Ints, words), typename V::Floats)};
}

// ---- Scales -----------------------------------------------------------------------------------------------

// A number of each row. The scales of a panel's blocks are [part][rows], `factor` times as large, which is a
// power of two; offsets are as they are.
template <class V>
struct OfRows {
    V v[vectors<V>];

    [[gnu::always_inline]] friend OfRows operator*(const OfRows& a, const OfRows& b) {
        OfRows product;
        for (Index i = 0; i < vectors<V>; ++i) product.v[i] = a.v[i] * b.v[i];
        return product;
    }
    [[gnu::always_inline]] friend OfRows operator*(const OfRows& a, float factor) {
        OfRows product;
        for (Index i = 0; i < vectors<V>; ++i) product.v[i] = a.v[i] * V::broadcast(factor);
        return product;
    }
    [[gnu::always_inline]] OfRows operator-() const {
        OfRows negative;
        for (Index i = 0; i < vectors<V>; ++i) negative.v[i] = V::zero() - v[i];
        return negative;
    }
};

template <class V>
[[gnu::always_inline]] inline OfRows<V> halves_at(const std::byte* p, Index byte) {
    OfRows<V> halves;
    for (Index i = 0; i < vectors<V>; ++i)
        halves.v[i] = V::load_f16(p + panel_rows * byte + i * V::width * 2);
    return halves;
}

template <class V>
[[gnu::always_inline]] inline Quants byte_at(const std::byte* p, Index byte) {
    Quants q;
    __builtin_memcpy(&q, p + panel_rows * byte, sizeof q);
    return q;
}

template <class V>
[[gnu::always_inline]] inline OfRows<V> rows_of(Quants signed_bytes) {
    typename V::Floats values[vectors<V>];
    V::Lanes::widen_quants(signed_bytes, values);
    OfRows<V> wide;
    for (Index i = 0; i < vectors<V>; ++i) wide.v[i] = {values[i]};
    return wide;
}

// ---- Types ------------------------------------------------------------------------------------------------

// `parts` of a block have scales of their own: input k is in part k · parts / elements.

// Blocks of 32 begin with their scale, a half, and after it their offset, if they have one.
template <Index size, bool offset>
struct BlockOf32 {
    static constexpr Index elements = 32, bytes = size, parts = 1, pattern = 2;
    static constexpr bool has_offsets = offset, in_upper_byte = true;
    static constexpr int subtracted = 0;

    template <class V>
    static void scales(const std::byte* p, float factor, OfRows<V>* scale, OfRows<V>* of_offsets) {
        scale[0] = halves_at<V>(p, 0) * factor;
        if constexpr (offset) of_offsets[0] = halves_at<V>(p, 2);
    }
};

struct Q4_0 : BlockOf32<18, false> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        return less_in_each<V, 8>(nibbles_at<V, i>(p, 2, j, v));
    }
};

struct Q4_1 : BlockOf32<20, true> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        return nibbles_at<V, i>(p, 4, j, v);
    }
};

struct Q5_0 : BlockOf32<22, false> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        return less_in_each<V, 16>(nibbles_at<V, i>(p, 6, j, v) | fifth_bits<V, i>(p, 2, j, v));
    }
};

struct Q5_1 : BlockOf32<24, true> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        return nibbles_at<V, i>(p, 8, j, v) | fifth_bits<V, i>(p, 4, j, v);
    }
};

struct Q8_0 : BlockOf32<34, false> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        return words_at<V>(p, 2 + 16 * i, j, v);
    }
};

struct Iq4Nl : BlockOf32<18, false> {
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index, Index j, Index v) {
        constexpr Quants values = __builtin_bit_cast(
            Quants, SignedQuants{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113});
        typename V::Words words = nibbles_at<V, i>(p, 2, j, v);
        Quants sixteen[sizeof words / sizeof(Quants)];
        __builtin_memcpy(sixteen, &words, sizeof words);
        for (Quants& each : sixteen) each = V::Lanes::look_up(values, each);
        __builtin_memcpy(&words, sixteen, sizeof words);
        return words;
    }
};

// Blocks of 256 have scales and offsets of their parts. Quants are 0 to 63: what a type subtracts from all of
// them is an offset as well, and no value changes by that, for scale · quant has few enough bits to be exact.
template <Index size, Index count>
struct BlockOf256 {
    static constexpr Index elements = 256, bytes = size, parts = count;
    static constexpr bool has_offsets = true, in_upper_byte = false;
    static constexpr int subtracted = 0;
};

struct Q2K : BlockOf256<84, 16> {
    static constexpr Index pattern = 2;

    template <class V>
    static void scales(const std::byte* p, float factor, OfRows<V>* scale, OfRows<V>* offset) {
        const OfRows<V> d = halves_at<V>(p, 80) * factor, minus_dmin = -halves_at<V>(p, 82);
        for (Index part = 0; part < parts; ++part) {
            const Quants both = byte_at<V>(p, part);
            scale[part] = d * rows_of<V>(both & 15);
            offset[part] = minus_dmin * rows_of<V>(both >> 4);
        }
    }
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index group, Index j,
                                                           Index v) {
        const auto shift = static_cast<unsigned>(group % 4 * 2);
        return bits_of_each<V, 3, 0>(words_at<V>(p, 16 + group / 4 * 32 + 16 * i, j, v) >> shift);
    }
};

struct Q3K : BlockOf256<110, 16> {
    static constexpr Index pattern = 2;
    static constexpr int subtracted = 4;

    // The low nibbles of 8 bytes are the first 8 scales; two more bits of each lie in 4 bytes.
    template <class V>
    static void scales(const std::byte* p, float factor, OfRows<V>* scale, OfRows<V>* offset) {
        const OfRows<V> d = halves_at<V>(p, 108) * factor;
        for (Index part = 0; part < parts; ++part) {
            const Quants four = byte_at<V>(p, 96 + part % 8) >> (part < 8 ? 0 : 4) & 15,
                         two = byte_at<V>(p, 104 + part % 4) >> static_cast<std::uint8_t>(part / 4 * 2) & 3;
            scale[part] = d * rows_of<V>((four | two << 4) - 32);
            offset[part] = scale[part] * (-subtracted / factor);
        }
    }
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index group, Index j,
                                                           Index v) {
        const auto shift = static_cast<unsigned>(group % 4 * 2), high_shift = static_cast<unsigned>(group);
        const auto low = bits_of_each<V, 3, 0>(words_at<V>(p, 32 + group / 4 * 32 + 16 * i, j, v) >> shift),
                   high = bits_of_each<V, 1, 0, 2>(words_at<V>(p, 16 * i, j, v) >> high_shift);
        return low | high;
    }
};

// The eight scales and minima are of 6 bits each, in 12 bytes.
template <bool fifth>
struct Q4OrQ5K : BlockOf256<fifth ? 176 : 144, 8> {
    static constexpr Index pattern = 4;

    template <class V>
    static void scales(const std::byte* p, float factor, OfRows<V>* scale, OfRows<V>* offset) {
        const OfRows<V> d = halves_at<V>(p, 0) * factor, minus_dmin = -halves_at<V>(p, 2);
        for (Index part = 0; part < 4; ++part) {
            const Quants a = byte_at<V>(p, 4 + part), b = byte_at<V>(p, 8 + part),
                         c = byte_at<V>(p, 12 + part);
            scale[part] = d * rows_of<V>(a & 63);
            offset[part] = minus_dmin * rows_of<V>(b & 63);
            scale[part + 4] = d * rows_of<V>((c & 15) | (a >> 6) << 4);
            offset[part + 4] = minus_dmin * rows_of<V>((c >> 4) | (b >> 6) << 4);
        }
    }
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words nibbles(const std::byte* p, Index group, Index j,
                                                            Index v) {
        return words_at<V>(p, (fifth ? 48 : 16) + 32 * group + i % 2 * 16, j, v);
    }
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index group, Index j,
                                                           Index v) {
        const auto low = bits_of_each<V, 15, i / 2 * 4>(nibbles<V, i>(p, group, j, v));
        if constexpr (!fifth) return low;
        const auto shift = static_cast<unsigned>(2 * group);
        return low | bits_of_each<V, 1, i / 2, 4>(words_at<V>(p, 16 + i % 2 * 16, j, v) >> shift);
    }
};

struct Q6K : BlockOf256<210, 16> {
    static constexpr Index pattern = 8;
    static constexpr int subtracted = 32;

    template <class V>
    static void scales(const std::byte* p, float factor, OfRows<V>* scale, OfRows<V>* offset) {
        const OfRows<V> d = halves_at<V>(p, 208) * factor;
        for (Index part = 0; part < parts; ++part) {
            scale[part] = d * rows_of<V>(byte_at<V>(p, 192 + part));
            offset[part] = scale[part] * (-subtracted / factor);
        }
    }
    template <class V, int i>
    [[gnu::always_inline]] static typename V::Words quants(const std::byte* p, Index group, Index j,
                                                           Index v) {
        return bits_of_each<V, 15, i / 4 * 4, 0>(words_at<V>(p, 64 * group + i % 4 * 16, j, v)) |
               bits_of_each<V, 3, i / 2 * 2, 4>(words_at<V>(p, 128 + 32 * group + i % 2 * 16, j, v));
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
