#include "kernels/simd/outside.hpp"

#include <cmath>

namespace attn::simd {

namespace {
AlignedAllocator<float> allocator;
}

Scratch::Scratch(Index floats) : data(allocator.allocate(static_cast<std::size_t>(floats))) {}

Scratch::~Scratch() { allocator.deallocate(data, 0); }

float logarithm(float x) { return std::log(x); }

float exponential(float x) { return std::exp(x); }

double square_root(double x) { return std::sqrt(x); }

}  // namespace attn::simd
