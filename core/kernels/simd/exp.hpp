// exp, tanh and erf over a vector. Each is an object that holds its constants: make it before the loop.
#pragma once

#include "kernels/simd/vector.hpp"

namespace attn::simd {

inline constexpr float exp_table[] = {
    // (e^r − 1 − r) / r² is interpolated at the Chebyshev nodes of degree 4 with a relative error
    // of 2^-26; r and 1 follow.
    0.001392621346613538f,
    0.00836320297157575f,
    0.04166655443768795f,
    0.1666657684599398f,
    0.5f,
    1,
    1,
    1.44269504088896341f,  // 1 / ln 2
    -0.693359375f,
    2.12194440e-4f,  // −ln 2 in two parts; the first has few bits, so that its product with n is exact
    12582912.0f,     // 1.5 · 2^23: adding it rounds to an integer n, which then occupies the low bits
    -104,
    89,
};

template <class V>
class Exp {
  public:
    // The result is within 2 units in the last place over the whole range, and within one step if it is
    // subnormal. It is 0 below −104, inf above 88.73, and NaN for NaN.
    [[gnu::always_inline]] V operator()(V x) const {
        x = V::max(c_[11], x);
        x = V::where_less(c_[12], x, c_[12], x);
        const V shifted = V::fma(x, c_[7], c_[10]);
        const V n = shifted - c_[10];
        const V r = V::fma(n, c_[9], V::fma(n, c_[8], x));  // x = n ln 2 + r, |r| <= ln 2 / 2
        const V power = polynomial<6>(c_, 0, r);
        const Ints exponent = __builtin_bit_cast(Ints, shifted.v) - 0x4b400000;
        // 2^n is split into two factors, so that subnormal results and 2^128 come out right.
        const Ints half = exponent >> 1;
        return {power.v * __builtin_bit_cast(Floats, (half + 127) << 23) *
                __builtin_bit_cast(Floats, (exponent - half + 127) << 23)};
    }

  private:
    using Floats = typename V::Floats;
    using Ints = typename V::Ints;

    Constants<V, std::size(exp_table)> c_{exp_table};
};

inline constexpr float weight_exp_table[] = {
    // This is 2^−g for |g| <= 1/2, a minimax polynomial of degree 5 whose last two coefficients are −ln 2 and
    // exactly 1, with a relative error of 1.05e-7.
    -1.33002567234e-03f,
    9.66971861121e-03f,
    -5.55056005615e-02f,
    2.40222814636e-01f,
    -0.693147180559945309f,
    1,
    1.44269504088896341f,  // 1 / ln 2
    -1.44269504088896341f,
    12582912.0f + 127,  // 1.5 · 2^23 and the bias of an exponent
    -88,
};

// The exponential of attention takes fewer steps. It is good enough for scores, which are rounded by as much.
template <class V>
class WeightExp {
  public:
    // For x <= 88 the relative error is within 2e-7 + 7.5e-8 |x|, and exp(0) is exactly 1. It is 0
    // below −88 and NaN for NaN.
    [[gnu::always_inline]] V operator()(V x) const {
        using Floats = typename V::Floats;
        using Words = typename V::Words;
        // −88 rounds to 2^−127, whose biased exponent of 0 represents the number 0.
        x = V::max(c_[9], x);
        const V shifted = V::fma(x, c_[6], c_[8]);
        const V g = V::fma(x, c_[7], shifted - c_[8]);
        return {polynomial<5>(c_, 0, g).v *
                __builtin_bit_cast(Floats, __builtin_bit_cast(Words, shifted.v) << 23)};
    }

  private:
    Constants<V, std::size(weight_exp_table)> c_{weight_exp_table};
};

inline constexpr float tanh_table[] = {
    // Cephes (Moshier), tanhf: a polynomial in z = x², used below 0.625.
    -5.70498872745e-3f,
    2.06390887954e-2f,
    -5.37397155531e-2f,
    1.33314422036e-1f,
    -3.33332819422e-1f,
    0.625f,
    1,
    2,
};

template <class V>
class Tanh {
  public:
    // Above 0.625, tanh x is 1 − 2 / (e^2x + 1).
    [[gnu::always_inline]] V operator()(V x) const {
        const V z = x * x, t = V::magnitude(x);
        const V small = V::fma(polynomial<4>(c_, 0, z) * z, x, x);
        const V large = V::with_sign_of(c_[6] - c_[7] / (exp_(t + t) + c_[6]), x);
        return V::where_less(t, c_[5], small, large);
    }

  private:
    Exp<V> exp_;
    Constants<V, std::size(tanh_table)> c_{tanh_table};
};

inline constexpr float erf_table[] = {
    // This is the rational minimax approximation of Eigen 3.4 (generic_fast_erf_float); numerator and
    // denominator are polynomials in x².
    -2.72614225801306e-10f,
    2.77068142495902e-08f,
    -2.10102402082508e-06f,
    -5.69250639462346e-05f,
    -7.34990630326855e-04f,
    -2.95459980854025e-03f,
    -1.60960333262415e-02f,
    -1.45660718464996e-05f,
    -2.13374055278905e-04f,
    -1.68282697438203e-03f,
    -7.37332916720468e-03f,
    -1.42647390514189e-02f,
    4,
    1,
};

template <class V>
class Erf {
  public:
    // The result is exactly ±1 from 4 on.
    [[gnu::always_inline]] V operator()(V x) const {
        const V z = x * x;
        const V quotient = x * polynomial<6>(c_, 0, z) / polynomial<4>(c_, 7, z);
        return V::where_less(c_[12], V::magnitude(x), V::with_sign_of(c_[13], x), quotient);
    }

  private:
    Constants<V, std::size(erf_table)> c_{erf_table};
};

}  // namespace attn::simd
