// Files compiled for one instruction set take these from the rest of the program, not from inline functions
// of the standard library: the linker would share the copies of those with code for any machine.
#pragma once

#include "tensor/tensor.hpp"

namespace attn::simd {

// Uninitialised floats on a 64-byte boundary.
class Scratch {
  public:
    explicit Scratch(Index floats);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    float* const data;
};

inline void fill_zero(float* x, Index n) {
    __builtin_memset(x, 0, static_cast<std::size_t>(n) * sizeof(float));
}

// Copies the rows of m to rows that are `stride` apart.
[[gnu::always_inline]] inline void copy_rows(ConstMatrix m, float* to, Index stride) {
    for (Index r = 0; r < m.rows; ++r)
        __builtin_memcpy(to + r * stride, m.row(r), static_cast<std::size_t>(m.cols) * sizeof(float));
}

float logarithm(float x);
float exponential(float x);
double square_root(double x);

constexpr Index least(Index a, Index b) { return a < b ? a : b; }
// How many blocks of `size` n makes, and the range of each.
constexpr Index blocks(Index n, Index size) { return (n + size - 1) / size; }
constexpr Range block(Index i, Index size, Index n) { return {i * size, least((i + 1) * size, n)}; }
constexpr Index round_up(Index n, Index step) { return (n + step - 1) / step * step; }

}  // namespace attn::simd
