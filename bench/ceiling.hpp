// Two measurements over the lanes of a table that are not in the table: what a core can do at most,
// multiply-adds between registers and nothing else; and exp.
#pragma once

#include <string_view>

#include "kernels/simd/exp.hpp"
#include "kernels/simd/vector.hpp"

namespace attn::bench {

// Returns the number of floating-point operations that one call does.
using Ceiling = double (*)(float* sink);

// Sets y[i] = exp(x[i]) for i < count, a multiple of 16.
using Exp = void (*)(const float* x, float* y, Index count);

struct Lanes {
    Ceiling ceiling = nullptr;
    Exp exp = nullptr;
};
// Returns those of the table with that name, or nulls if it has none.
Lanes lanes_of(std::string_view table);

Lanes lanes128();
Lanes lanes_relaxed();
Lanes lanes_avx2();
Lanes lanes_avx512();

// Unfused, a product of constants would be hoisted out of the loop; fused, V8 wants the sum as the third
// operand.
template <class V, bool fused>
double multiply_adds(float* sink) {
    constexpr int sums = 12;          // more than latency 4 times two units, fewer than there are registers
    constexpr int steps = 4'000'000;  // takes 10 to 20 ms; the best of shorter calls is too lucky to compare
    const V a = V::broadcast(sink[0]), b = V::broadcast(sink[1]);
    V s[sums];
    for (int i = 0; i < sums; ++i) s[i] = V::broadcast(static_cast<float>(i));
    for (int step = 0; step < steps; step += 4)
        for (int again = 0; again < 4; ++again)
            for (int i = 0; i < sums; ++i) s[i] = fused ? V::fma(a, b, s[i]) : V::fma(s[i], a, b);
    for (int i = 1; i < sums; ++i) s[0] = s[0] + s[i];
    sink[2] = s[0].total();
    return 2.0 * sums * steps * V::width;
}

template <class V>
void exp_over(const float* x, float* y, Index count) {
    const simd::Exp<V> exp;
    for (Index i = 0; i < count; i += V::width) exp(V::load(x + i)).store(y + i);
}

template <class V, bool fused>
Lanes lanes_over() {
    return {multiply_adds<V, fused>, exp_over<V>};
}

}  // namespace attn::bench
