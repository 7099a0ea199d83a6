#include "ceiling.hpp"
#include "kernels/simd/lanes_avx2.hpp"

double attn::bench::ceiling_avx2(float* sink) {
    return multiply_adds<simd::Vector<simd::LanesAvx2>, true>(sink);
}
