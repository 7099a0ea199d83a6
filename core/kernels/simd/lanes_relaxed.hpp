// Four floats in WebAssembly with relaxed SIMD: multiply and add in one step if the machine can.
#pragma once

#include <wasm_simd128.h>

#include "kernels/simd/lanes128.hpp"

namespace attn::simd {

struct LanesRelaxed : Lanes128 {
    // 12 sums, 2 vectors of B and a factor of A take the 15 registers that V8 offers on x86-64.
    static constexpr int tile_rows = 6;
    static constexpr int panel_vectors = 2;

    [[gnu::always_inline]] static Floats fma(Floats a, Floats b, Floats c) {
        return __builtin_bit_cast(
            Floats, wasm_f32x4_relaxed_madd(__builtin_bit_cast(v128_t, a), __builtin_bit_cast(v128_t, b),
                                            __builtin_bit_cast(v128_t, c)));
    }
};

}  // namespace attn::simd
