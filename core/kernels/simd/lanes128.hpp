// Four floats, in whatever the compiler has for them: SSE2 on any x86-64, simd128 in WebAssembly.
//
// The members of every Lanes type must always be inlined: a copy compiled for one instruction set must never
// be linked into code for another.
#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

#if __wasm_simd128__
#include <wasm_simd128.h>
#endif

namespace attn::simd {

// Sixteen small integers of a block of weights; signed where they are widened.
using Quants [[gnu::vector_size(16)]] = std::uint8_t;
using SignedQuants [[gnu::vector_size(16)]] = std::int8_t;

struct Lanes128 {
    static constexpr Index width = 4;
    // 8 sums keep two multiply-adds of latency 4 busy, and leave registers for the products.
    static constexpr int tile_rows = 4;
    static constexpr int panel_vectors = 2;

    using Floats [[gnu::vector_size(16)]] = float;
    using Ints [[gnu::vector_size(16)]] = std::int32_t;
    using Words [[gnu::vector_size(16)]] = std::uint32_t;
    using Halves [[gnu::vector_size(8)]] = std::uint16_t;
    using SignedHalves [[gnu::vector_size(8)]] = std::int16_t;

    [[gnu::always_inline]] static Floats fma(Floats a, Floats b, Floats c) { return a * b + c; }

    // Returns b if either is NaN.
    [[gnu::always_inline]] static Floats max(Floats a, Floats b) { return a > b ? a : b; }

    [[gnu::always_inline]] static float total(Floats v) {
        v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
        return v[0] + v[1];
    }

    [[gnu::always_inline]] static float largest(Floats v) {
        v = max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
        return v[0] > v[1] ? v[0] : v[1];
    }

    [[gnu::always_inline]] static Floats widen_f16(Halves halves) {
        const Words bits = __builtin_convertvector(halves, Words);
        const Words magnitude = bits & 0x7fffu;
        // Moves the exponent's bias from 15 to 127, exactly, even for subnormals.
        const Floats value = __builtin_bit_cast(Floats, magnitude << 13) * 0x1p112f;
        const Words not_finite = __builtin_bit_cast(Words, magnitude > 0x7bffu) & 0x7f800000u;
        return __builtin_bit_cast(Floats,
                                  __builtin_bit_cast(Words, value) | not_finite | ((bits & 0x8000u) << 16));
    }

    // Widened in two steps, as the instructions of both machines do it.
    [[gnu::always_inline]] static void widen_quants(Quants quants, Floats* to) {
        using Bytes [[gnu::vector_size(8)]] = std::int8_t;
        using Shorts [[gnu::vector_size(16)]] = std::int16_t;
        using Four [[gnu::vector_size(8)]] = std::int16_t;
        const auto q = __builtin_bit_cast(SignedQuants, quants);
        const Bytes halves[] = {__builtin_shufflevector(q, q, 0, 1, 2, 3, 4, 5, 6, 7),
                                __builtin_shufflevector(q, q, 8, 9, 10, 11, 12, 13, 14, 15)};
        for (int i = 0; i < 2; ++i) {
            const Shorts half = __builtin_convertvector(halves[i], Shorts);
            const Four low = __builtin_shufflevector(half, half, 0, 1, 2, 3),
                       high = __builtin_shufflevector(half, half, 4, 5, 6, 7);
            to[2 * i] = __builtin_convertvector(__builtin_convertvector(low, Ints), Floats);
            to[2 * i + 1] = __builtin_convertvector(__builtin_convertvector(high, Ints), Floats);
        }
    }

    // table[i] of each index 0 … 15.
    [[gnu::always_inline]] static Quants look_up(Quants table, Quants index) {
#if __wasm_simd128__
        return __builtin_bit_cast(
            Quants, wasm_i8x16_swizzle(__builtin_bit_cast(v128_t, table), __builtin_bit_cast(v128_t, index)));
#else
        Quants found;
        for (int i = 0; i < 16; ++i) found[i] = table[index[i]];
        return found;
#endif
    }

    [[gnu::always_inline]] static void transpose(Floats* r) {
        const Floats a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
        const Floats b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
        const Floats c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
        const Floats d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
        r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
        r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
        r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
        r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
    }
};

}  // namespace attn::simd
