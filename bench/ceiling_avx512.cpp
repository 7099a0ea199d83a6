#include "ceiling.hpp"
#include "kernels/simd/lanes_avx512.hpp"

double attn::bench::ceiling_avx512(float* sink) {
    return multiply_adds<simd::Vector<simd::LanesAvx512>, true>(sink);
}
