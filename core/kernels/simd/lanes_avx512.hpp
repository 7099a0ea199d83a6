// Sixteen floats: AVX-512 F. GCC 12 warns of undefined vectors of its own in the plain intrinsics, so this
// uses the zeroing forms and the compiler's shuffles.
#pragma once

#include "kernels/simd/lanes_avx2.hpp"

namespace attn::simd {

struct LanesAvx512 {
    static constexpr Index width = 16;
    static constexpr int tile_rows = 12;  // 24 sums and 2 vectors of B in 32 registers; A from memory
    static constexpr int panel_vectors = 2;

    using Floats [[gnu::vector_size(64)]] = float;
    using Ints [[gnu::vector_size(64)]] = std::int32_t;
    using Words [[gnu::vector_size(64)]] = std::uint32_t;
    using Halves [[gnu::vector_size(32)]] = std::uint16_t;
    using SignedHalves [[gnu::vector_size(32)]] = std::int16_t;

    [[gnu::always_inline]] static Floats fma(Floats a, Floats b, Floats c) {
        return _mm512_fmadd_ps(a, b, c);
    }
    [[gnu::always_inline]] static Floats max(Floats a, Floats b) { return _mm512_maskz_max_ps(0xffff, a, b); }
    [[gnu::always_inline]] static float total(Floats v) {
        return LanesAvx2::total(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                                __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    }
    [[gnu::always_inline]] static float largest(Floats v) {
        return LanesAvx2::largest(
            LanesAvx2::max(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)));
    }
    [[gnu::always_inline]] static Floats widen_f16(Halves halves) {
        return _mm512_maskz_cvtph_ps(0xffff, __builtin_bit_cast(__m256i, halves));
    }

    [[gnu::always_inline]] static void widen_quants(Quants quants, Floats* to) {
        const auto q = __builtin_bit_cast(SignedQuants, quants);
        to[0] = __builtin_convertvector(__builtin_convertvector(q, Ints), Floats);
    }
    [[gnu::always_inline]] static Quants look_up(Quants table, Quants index) {
        return LanesAvx2::look_up(table, index);
    }

    [[gnu::always_inline]] static void transpose(Floats* r) {
        Floats pairs[16], quads[16];
        for (int i = 0; i < 16; i += 2) {
            const Floats a = r[i], b = r[i + 1];
            pairs[i] =
                __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
            pairs[i + 1] =
                __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
        }
        for (int i = 0; i < 16; i += 4)
            for (int j = 0; j < 2; ++j) {
                const Floats a = pairs[i + j], b = pairs[i + j + 2];
                quads[i + 2 * j] =
                    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
                quads[i + 2 * j + 1] =
                    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
            }
        // Exchanges groups of four floats: first between rows 4 apart, then between rows 8 apart.
        Floats halves[16];
        for (int i = 0; i < 16; i += 8)
            for (int j = 0; j < 4; ++j) {
                const Floats a = quads[i + j], b = quads[i + j + 4];
                halves[i + j] =
                    __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
                halves[i + j + 4] =
                    __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
            }
        for (int i = 0; i < 8; ++i) {
            const Floats a = halves[i], b = halves[i + 8];
            r[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            r[i + 8] =
                __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
    }
};

}  // namespace attn::simd
