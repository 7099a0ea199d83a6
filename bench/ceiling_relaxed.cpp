#include "ceiling.hpp"
#include "kernels/simd/lanes_relaxed.hpp"

double attn::bench::ceiling_relaxed(float* sink) {
    return multiply_adds<simd::Vector<simd::LanesRelaxed>, true>(sink);
}
