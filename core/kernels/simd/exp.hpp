// exp, tanh and erf over a vector.
#pragma once

#include "kernels/simd/vector.hpp"

namespace attn::simd {

// 2^n · e^r of x, |r| <= ln 2 / 2: e^r, and the sum 1.5 · 2^23 + bias + n, in whose low bits bias + n stands.
template <class V>
struct ReducedExp {
    V power;
    V shifted;
};

template <class V>
[[gnu::always_inline]] inline ReducedExp<V> reduced_exp(V x, float bias) {
    const V round_to_integer = V::broadcast(12582912.0f + bias);
    const V shifted = V::fma(x, V::broadcast(1.44269504088896341f), round_to_integer);
    const V n = shifted - round_to_integer;
    // ln 2 in two parts, the first of few bits so that its product with n is exact.
    const V r = V::fma(n, V::broadcast(2.12194440e-4f), V::fma(n, V::broadcast(-0.693359375f), x));
    // (e^r − 1 − r) / r² interpolated at the Chebyshev nodes of degree 4: 2^-26 relatively.
    V p = V::broadcast(0.001392621346613538f);
    p = V::fma(p, r, V::broadcast(0.00836320297157575f));
    p = V::fma(p, r, V::broadcast(0.04166655443768795f));
    p = V::fma(p, r, V::broadcast(0.1666657684599398f));
    p = V::fma(p, r, V::broadcast(0.5f));
    p = V::fma(p, r, V::broadcast(1));
    p = V::fma(p, r, V::broadcast(1));
    return {p, shifted};
}

// For x <= 0, within 2 units in the last place where the result is a normal number; 0 below −88, NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V exp_nonpositive(V x) {
    using Floats = typename V::Floats;
    using Words = typename V::Words;
    // −88 rounds to 2^−127, whose biased exponent of 0 stands for the number 0.
    const auto [power, shifted] = reduced_exp(V::max(V::broadcast(-88), x), 127);
    return {power.v * __builtin_bit_cast(Floats, __builtin_bit_cast(Words, shifted.v) << 23)};
}

// Within 2 units in the last place over the whole range; 0 below −104, inf above 88.73, NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V exp(V x) {
    using Floats = typename V::Floats;
    using Ints = typename V::Ints;
    x = V::max(V::broadcast(-104), x);
    x = V::where_less(V::broadcast(89), x, V::broadcast(89), x);
    const auto [power, shifted] = reduced_exp(x, 0);
    const Ints n = __builtin_bit_cast(Ints, shifted.v) - 0x4b400000;
    // 2^n in two factors, so that subnormal results and 2^128 come out right.
    const Ints half = n >> 1;
    return {power.v * __builtin_bit_cast(Floats, (half + 127) << 23) *
            __builtin_bit_cast(Floats, (n - half + 127) << 23)};
}

// Below 0.625 the polynomial of Cephes (Moshier), tanhf; above it 1 − 2 / (e^2x + 1).
template <class V>
[[gnu::always_inline]] inline V tanh(V x) {
    const V z = x * x;
    V p = V::broadcast(-5.70498872745e-3f);
    p = V::fma(p, z, V::broadcast(2.06390887954e-2f));
    p = V::fma(p, z, V::broadcast(-5.37397155531e-2f));
    p = V::fma(p, z, V::broadcast(1.33314422036e-1f));
    p = V::fma(p, z, V::broadcast(-3.33332819422e-1f));
    const V small = V::fma(p * z, x, x);

    const V t = V::magnitude(x);
    const V one = V::broadcast(1);
    const V large = V::with_sign_of(one - V::broadcast(2) / (exp(t + t) + one), x);
    return V::where_less(t, V::broadcast(0.625f), small, large);
}

// Rational minimax approximation of Eigen 3.4 (generic_fast_erf_float); ±1 from 4 on, exactly.
template <class V>
[[gnu::always_inline]] inline V erf(V x) {
    const V z = x * x;
    V p = V::broadcast(-2.72614225801306e-10f);
    p = V::fma(p, z, V::broadcast(2.77068142495902e-08f));
    p = V::fma(p, z, V::broadcast(-2.10102402082508e-06f));
    p = V::fma(p, z, V::broadcast(-5.69250639462346e-05f));
    p = V::fma(p, z, V::broadcast(-7.34990630326855e-04f));
    p = V::fma(p, z, V::broadcast(-2.95459980854025e-03f));
    p = V::fma(p, z, V::broadcast(-1.60960333262415e-02f));
    V q = V::broadcast(-1.45660718464996e-05f);
    q = V::fma(q, z, V::broadcast(-2.13374055278905e-04f));
    q = V::fma(q, z, V::broadcast(-1.68282697438203e-03f));
    q = V::fma(q, z, V::broadcast(-7.37332916720468e-03f));
    q = V::fma(q, z, V::broadcast(-1.42647390514189e-02f));
    const V t = V::magnitude(x);
    return V::where_less(V::broadcast(4), t, V::with_sign_of(V::broadcast(1), x), x * p / q);
}

}  // namespace attn::simd
