#include "ceiling.hpp"
#include "kernels/simd/lanes_avx2.hpp"

attn::bench::Lanes attn::bench::lanes_avx2() { return lanes_over<simd::Vector<simd::LanesAvx2>, true>(); }
