#include "ceiling.hpp"
#include "kernels/simd/lanes128.hpp"

double attn::bench::ceiling128(float* sink) {
    return multiply_adds<simd::Vector<simd::Lanes128>, false>(sink);
}
