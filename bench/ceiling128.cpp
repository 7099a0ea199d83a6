#include "ceiling.hpp"
#include "kernels/simd/lanes128.hpp"

attn::bench::Lanes attn::bench::lanes128() { return lanes_over<simd::Vector<simd::Lanes128>, false>(); }
