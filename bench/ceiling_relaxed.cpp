#include "ceiling.hpp"
#include "kernels/simd/lanes_relaxed.hpp"

attn::bench::Lanes attn::bench::lanes_relaxed() {
    return lanes_over<simd::Vector<simd::LanesRelaxed>, true>();
}
