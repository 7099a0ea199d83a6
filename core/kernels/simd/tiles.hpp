// Multiplies a vector by a tile of a W [out, in]: 16 outputs, as many inputs as a sum has. Squares of 4 × 4
// words are transposed as they are stored, two or four weights in a word, and widened after that: at most
// half the steps of transposing floats.
//
// Every function is a template over V, so that none is shared between instruction sets (lanes128.hpp).
#pragma once

#include "kernels/simd/blocks.hpp"
#include "kernels/simd/elementwise.hpp"
#include "kernels/simd/multiply.hpp"
#include "kernels/simd/panels.hpp"

namespace attn::simd {

inline constexpr Index tile_outputs = 16;

// A constant that the compiler cannot see through, as in Constants.
template <class Words>
[[gnu::always_inline]] inline Words kept(const Words& constant) {
    const Words* p = &constant;
    asm("" : "+r"(p));
    return *p;
}

// How many vectors 16 outputs are.
template <class V>
inline constexpr Index vectors = tile_outputs / V::width;

// Vector i of the 16 outputs.
template <class Vector, class Four>
[[gnu::always_inline]] inline Vector number(Index i, const Four (&of)[4]) {
    Vector v;
    __builtin_memcpy(&v, reinterpret_cast<const std::byte*>(of) + i * Index{sizeof v}, sizeof v);
    return v;
}

// Transposes 4 × 4 words: to[j · stride] has word j of each.
template <class V, class Words>
[[gnu::always_inline]] inline void transpose_words(const Words (&from)[4], Words* to, Index stride) {
    Lanes128::Floats block[4];
    for (Index i = 0; i < 4; ++i) block[i] = __builtin_bit_cast(Lanes128::Floats, from[i]);
    Lanes128::transpose(block);
    for (Index i = 0; i < 4; ++i) to[i * stride] = __builtin_bit_cast(Words, block[i]);
}

// Quants of four inputs in a word, and the scales and offsets of all parts.
template <class V>
struct QuantTile {
    Quants words[depth_block / 4][4];
    Lanes128::Floats scale[16][4], offset[16][4];
};

// Transposes the scales of four rows, times a power of 2.
template <class V>
void transpose_scales(const float (&from)[4][16], float factor, Lanes128::Floats* to) {
    for (Index part = 0; part < 16; part += 4) {
        Lanes128::Floats block[4];
        for (Index i = 0; i < 4; ++i) __builtin_memcpy(&block[i], from[i] + part, sizeof block[i]);
        Lanes128::transpose(block);
        for (Index i = 0; i < 4; ++i) to[(part + i) * 4] = block[i] * factor;
    }
}

template <class V>
[[gnu::always_inline]] inline void widen_eight(Lanes128::EightHalves halves, float* to) {
    const Lanes128::Floats wide[] = {
        Lanes128::widen_f16(__builtin_shufflevector(halves, halves, 0, 1, 2, 3)),
        Lanes128::widen_f16(__builtin_shufflevector(halves, halves, 4, 5, 6, 7))};
    __builtin_memcpy(to, wide, sizeof wide);
}

// The scales and offsets of a row. Halves become vectors by insertion: stored one by one they could not be
// loaded as a vector before all of them are in the cache.
template <class V, class B>
void scales_of_row(const std::byte* row, Index depth, float* scale, float* offset) {
    if constexpr (B::elements == 32) {
        Lanes128::EightHalves scales{}, offsets{};
        unrolled<depth_block / 32>([&]<int i>() {
            if (32 * i >= depth) return;
            std::uint16_t half;
            __builtin_memcpy(&half, row + i * B::bytes, sizeof half);
            scales[i] = half;
            if constexpr (B::has_offsets) {
                __builtin_memcpy(&half, row + i * B::bytes + 2, sizeof half);
                offsets[i] = half;
            }
        });
        widen_eight<V>(scales, scale);
        if constexpr (B::has_offsets) widen_eight<V>(offsets, offset);
    } else
        B::template scales<V>(row, scale, offset);
}

// Outputs 4 group to 4 group + 3. A quant will be widened as the upper byte of a word, 2²⁴ times too large,
// so the scales are as much smaller: the products are the same.
template <class V, class B>
void take_apart(const std::byte* rows, Index row_bytes, Index depth, Index group, QuantTile<V>& tile) {
    float scale[4][16]{}, offset[4][16]{};
    for (Index i = 0; i < 4; ++i) scales_of_row<V, B>(rows + i * row_bytes, depth, scale[i], offset[i]);
    transpose_scales<V>(scale, 0x1p-24f, &tile.scale[0][group]);
    if constexpr (B::has_offsets) transpose_scales<V>(offset, 1, &tile.offset[0][group]);
    for (Index k = 0; k < depth; k += B::elements, rows += B::bytes)
        unrolled<B::elements / 16>([&]<int i>() {
            Quants quants[4];
            for (Index row = 0; row < 4; ++row)
                quants[row] = B::template quants<V, i>(rows + row * row_bytes);
            transpose_words<V>(quants, &tile.words[k / 4 + 4 * i][group], 4);
        });
}

template <class V, Index in_part, bool has_offsets>
void add_quants(const float* x, const QuantTile<V>& tile, Index depth, float* y) {
    using Words = typename V::Words;
    constexpr Words upper_byte = Words{} + 0xff000000u;
    const Words mask = kept(upper_byte);
    V sums[vectors<V>]{};
    for (Index k = 0; k < depth; k += 4) {
        V factors[4];
        for (Index i = 0; i < 4; ++i) factors[i] = V::broadcast(x[k + i]);
        for (Index g = 0; g < vectors<V>; ++g) {
            const Words words = number<Words>(g, tile.words[k / 4]);
            const V scale{number<typename V::Floats>(g, tile.scale[k / in_part])};
            V offset = scale;
            if constexpr (has_offsets) offset = {number<typename V::Floats>(g, tile.offset[k / in_part])};
            const Words quants[] = {words << 24, words << 16 & mask, words << 8 & mask, words & mask};
            for (Index i = 0; i < 4; ++i) {
                const V quant{__builtin_convertvector(__builtin_bit_cast(typename V::Ints, quants[i]),
                                                      typename V::Floats)};
                V value = scale * quant;
                if constexpr (has_offsets) value = value + offset;
                sums[g] = V::fma(factors[i], value, sums[g]);
            }
        }
    }
    for (Index g = 0; g < vectors<V>; ++g) (V::load(y + V::width * g) + sums[g]).store(y + V::width * g);
}

template <class V, class B>
bool add_blocks(const float* x, const std::byte* rows, Index row_bytes, Index depth, float* y) {
    QuantTile<V> tile;
    for (Index g = 0; g < 4; ++g) take_apart<V, B>(rows + 4 * g * row_bytes, row_bytes, depth, g, tile);
    add_quants<V, B::elements / B::parts, B::has_offsets>(x, tile, depth, y);
    return true;
}

// Halves of two inputs in a word.
using HalvesOfTile [[gnu::vector_size(16)]] = std::int16_t;

// Transposes halves, those beyond the last input 0, and returns the largest in magnitude, lane by lane.
template <class V>
HalvesOfTile transpose_halves(const std::byte* rows, Index row_bytes, Index depth,
                              HalvesOfTile (&to)[depth_block / 2][4]) {
    HalvesOfTile largest{};
    for (Index g = 0; g < 4; ++g, rows += 4 * row_bytes) {
        const auto transpose = [&](Index k, std::size_t bytes) __attribute__((always_inline)) {
            HalvesOfTile block[4]{};
            for (Index i = 0; i < 4; ++i) {
                __builtin_memcpy(&block[i], rows + i * row_bytes + 2 * k, bytes);
                const HalvesOfTile magnitude = block[i] & 0x7fff;
                largest = magnitude > largest ? magnitude : largest;
            }
            transpose_words<V>(block, &to[k / 2][g], 4);
        };
        Index k = 0;
        for (; k + 8 <= depth; k += 8) transpose(k, 16);
        if (k < depth) transpose(k, static_cast<std::size_t>(2 * (depth - k)));
    }
    return largest;
}

// widen<i>(words) gives number i of two.
template <class V, class Widen>
[[gnu::always_inline]] inline void add_halves(const float* x, const HalvesOfTile (&words)[depth_block / 2][4],
                                              Index depth, float* y, Widen widen) {
    V sums[vectors<V>]{};
    const auto add = [&]<int i>(Index k) __attribute__((always_inline)) {
        const V factor = V::broadcast(x[k + i]);
        for (Index g = 0; g < vectors<V>; ++g) {
            const auto word = number<typename V::Words>(g, words[k / 2]);
            sums[g] =
                V::fma(factor, {__builtin_bit_cast(typename V::Floats, widen.template operator()<i>(word))},
                       sums[g]);
        }
    };
    Index k = 0;
    for (; k + 2 <= depth; k += 2) {
        add.template operator()<0>(k);
        add.template operator()<1>(k);
    }
    if (k < depth) add.template operator()<0>(k);
    for (Index g = 0; g < vectors<V>; ++g) (V::load(y + V::width * g) + sums[g]).store(y + V::width * g);
}

template <class V>
bool add_bf16(const float* x, const std::byte* rows, Index row_bytes, Index depth, float* y) {
    using Words = typename V::Words;
    HalvesOfTile words[depth_block / 2][4];
    transpose_halves<V>(rows, row_bytes, depth, words);
    constexpr Words upper_half = Words{} + 0xffff0000u;
    const Words mask = kept(upper_half);
    add_halves<V>(x, words, depth, y, [&]<int i>(Words word) { return i == 0 ? word << 16 : word & mask; });
    return true;
}

// Halves become floats 2¹¹² times too small, even subnormal ones, and factors are as much larger: the
// products are the same. The shift copies the sign into bits that are cleared again. Refuses a tile with a
// half that is not finite.
template <class V>
bool add_f16(const float* x, const std::byte* rows, Index row_bytes, Index depth, float* y) {
    using Words = typename V::Words;
    HalvesOfTile words[depth_block / 2][4];
    const HalvesOfTile largest = transpose_halves<V>(rows, row_bytes, depth, words);
    for (int lane = 0; lane < 8; ++lane)
        if (largest[lane] >= 0x7c00) return false;
    constexpr Words sign_and_magnitude = Words{} + 0x8fffe000u;
    const Words mask = kept(sign_and_magnitude);
    add_halves<V>(x, words, depth, y, [&]<int i>(Words word) {
        const auto half = __builtin_bit_cast(typename V::Ints, i == 0 ? word << 16 : word);
        return __builtin_bit_cast(Words, half >> 3) & mask;
    });
    return true;
}

// Returns x · 2¹¹², or null if that is too large for a float.
template <class V>
const float* factors_of_halves(const float* x, Index in, float* to) {
    V largest = V::zero();
    const V factor = V::broadcast(0x1p112f);
    for_each_vector<V>(in, [&](Index k, Index count) {
        const V values = load_some<V>(x + k, count);
        largest = V::max(V::magnitude(values), largest);
        store_some(values * factor, to + k, count);
    });
    return largest.largest() < 0x1p15f ? to : nullptr;
}

// Adds x · the rows of a tile to y, or returns false.
using AddTile = bool (*)(const float* x, const std::byte* rows, Index row_bytes, Index depth, float* y);

// f32 has none: there is nothing to gain.
template <class V>
AddTile add_tile_of(DType dtype) {
    switch (dtype) {
        case DType::f32: return nullptr;
        case DType::f16: return add_f16<V>;
        case DType::bf16: return add_bf16<V>;
        default: return for_blocks(dtype, []<class B>() -> AddTile { return add_blocks<V, B>; });
    }
}

}  // namespace attn::simd
