// The vector type that kernels are written in: the lanes of one instruction set, with the
// operations that all of them share.
#pragma once

#include "tensor/tensor.hpp"

namespace attn::simd {

template <class L>
struct Vector {
    using Lanes = L;
    using Floats = typename L::Floats;
    using Ints = typename L::Ints;
    using Words = typename L::Words;
    using Halves = typename L::Halves;
    using SignedHalves = typename L::SignedHalves;
    static constexpr Index width = L::width;

    Floats v;

    static Vector load(const float* p) {
        Floats v;
        __builtin_memcpy(&v, p, sizeof v);
        return {v};
    }
    void store(float* p) const { __builtin_memcpy(p, &v, sizeof v); }

    // Loads the first `count` elements; the other lanes are 0.
    static Vector load(const float* p, Index count) {
        Floats v{};
        __builtin_memcpy(&v, p, static_cast<std::size_t>(count) * sizeof(float));
        return {v};
    }
    void store(float* p, Index count) const {
        __builtin_memcpy(p, &v, static_cast<std::size_t>(count) * sizeof(float));
    }

    static Vector broadcast(float x) { return {x - Floats{}}; }  // not + 0, which would lose −0
    static Vector zero() { return {Floats{}}; }

    // The bytes are little-endian, of any alignment.
    static Vector load_f16(const std::byte* p) {
        Halves h;
        __builtin_memcpy(&h, p, sizeof h);
        return {L::widen_f16(h)};
    }
    static Vector load_bf16(const std::byte* p) {
        Halves h;
        __builtin_memcpy(&h, p, sizeof h);
        return {__builtin_bit_cast(Floats, __builtin_convertvector(h, Words) << 16)};
    }

    friend Vector operator+(Vector a, Vector b) { return {a.v + b.v}; }
    friend Vector operator-(Vector a, Vector b) { return {a.v - b.v}; }
    friend Vector operator*(Vector a, Vector b) { return {a.v * b.v}; }
    friend Vector operator/(Vector a, Vector b) { return {a.v / b.v}; }

    // a · b + c, rounded once if the instruction set can. A row of results must not mix this with * and +.
    static Vector fma(Vector a, Vector b, Vector c) { return {L::fma(a.v, b.v, c.v)}; }

    static Vector square_root(Vector a) {
        for (Index i = 0; i < width; ++i) a.v[i] = __builtin_sqrtf(a.v[i]);
        return a;
    }

    static Vector max(Vector a, Vector b) { return {L::max(a.v, b.v)}; }  // b if either is NaN

    // Lane by lane, returns x if a < b, and y otherwise, or if a or b is NaN.
    static Vector where_less(Vector a, Vector b, Vector x, Vector y) { return {a.v < b.v ? x.v : y.v}; }

    static Vector magnitude(Vector a) {
        return {__builtin_bit_cast(Floats, __builtin_bit_cast(Words, a.v) & 0x7fffffffu)};
    }
    static Vector with_sign_of(Vector magnitude, Vector sign) {
        return {__builtin_bit_cast(Floats, __builtin_bit_cast(Words, magnitude.v) |
                                               (__builtin_bit_cast(Words, sign.v) & 0x80000000u))};
    }

    float total() const { return L::total(v); }
    float largest() const { return L::largest(v); }  // ignores lanes that are NaN

    static void transpose(Vector (&rows)[width]) {
        Floats r[width];
        for (Index i = 0; i < width; ++i) r[i] = rows[i].v;
        L::transpose(r);
        for (Index i = 0; i < width; ++i) rows[i] = {r[i]};
    }
};

// Holds the constants of a loop; make it before the loop. V8 would rebuild a vector constant with several
// instructions wherever it is used; numbers from a table that the compiler cannot see through become vectors
// once.
template <class V, std::size_t n>
class Constants {
  public:
    [[gnu::always_inline]] explicit Constants(const float (&table)[n]) {
        const float* numbers = table;
        asm("" : "+r"(numbers));
        for (std::size_t i = 0; i < n; ++i) v_[i] = V::broadcast(numbers[i]);
    }
    [[gnu::always_inline]] V operator[](std::size_t i) const { return v_[i]; }

  private:
    V v_[n];
};

// Evaluates c[first] x^degree + … + c[first + degree].
template <int degree, class V, std::size_t n>
[[gnu::always_inline]] inline V polynomial(const Constants<V, n>& c, std::size_t first, V x) {
    V p = c[first];
    for (std::size_t i = 1; i <= degree; ++i) p = V::fma(p, x, c[first + i]);
    return p;
}

}  // namespace attn::simd
