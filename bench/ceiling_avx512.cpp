#include "ceiling.hpp"
#include "kernels/simd/lanes_avx512.hpp"

attn::bench::Lanes attn::bench::lanes_avx512() { return lanes_over<simd::Vector<simd::LanesAvx512>, true>(); }
