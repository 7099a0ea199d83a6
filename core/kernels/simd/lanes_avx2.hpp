// Eight floats: AVX2, FMA and F16C.
#pragma once

#include <immintrin.h>

#include "kernels/simd/lanes128.hpp"

namespace attn::simd {

struct LanesAvx2 {
    static constexpr Index width = 8;
    static constexpr int tile_rows = 6;  // 12 sums, 2 vectors of B and a factor of A in 16 registers
    static constexpr int panel_vectors = 2;

    using Floats [[gnu::vector_size(32)]] = float;
    using Ints [[gnu::vector_size(32)]] = std::int32_t;
    using Words [[gnu::vector_size(32)]] = std::uint32_t;
    using Halves [[gnu::vector_size(16)]] = std::uint16_t;
    using SignedHalves [[gnu::vector_size(16)]] = std::int16_t;

    [[gnu::always_inline]] static Floats fma(Floats a, Floats b, Floats c) {
        return _mm256_fmadd_ps(a, b, c);
    }
    [[gnu::always_inline]] static Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }

    [[gnu::always_inline]] static float total(Floats v) {
        return Lanes128::total(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
                               __builtin_shufflevector(v, v, 4, 5, 6, 7));
    }
    [[gnu::always_inline]] static float largest(Floats v) {
        return Lanes128::largest(Lanes128::max(__builtin_shufflevector(v, v, 0, 1, 2, 3),
                                               __builtin_shufflevector(v, v, 4, 5, 6, 7)));
    }
    [[gnu::always_inline]] static Floats widen_f16(Halves halves) {
        return _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves));
    }

    [[gnu::always_inline]] static void widen_quants(Quants quants, Floats* to) {
        using Bytes [[gnu::vector_size(8)]] = std::int8_t;
        const auto q = __builtin_bit_cast(SignedQuants, quants);
        const Bytes low = __builtin_shufflevector(q, q, 0, 1, 2, 3, 4, 5, 6, 7),
                    high = __builtin_shufflevector(q, q, 8, 9, 10, 11, 12, 13, 14, 15);
        to[0] = __builtin_convertvector(__builtin_convertvector(low, Ints), Floats);
        to[1] = __builtin_convertvector(__builtin_convertvector(high, Ints), Floats);
    }
    [[gnu::always_inline]] static Quants look_up(Quants table, Quants index) {
        return __builtin_bit_cast(
            Quants, _mm_shuffle_epi8(__builtin_bit_cast(__m128i, table), __builtin_bit_cast(__m128i, index)));
    }

    [[gnu::always_inline]] static void transpose(Floats* r) {
        Floats pairs[8], quads[8];
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
            pairs[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 2; ++j) {
                const Floats a = pairs[i + j], b = pairs[i + j + 2];
                quads[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
                quads[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
            }
        for (int i = 0; i < 4; ++i) {
            r[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            r[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
    }
};

}  // namespace attn::simd
