#include "kernels/simd/backward.hpp"
#include "kernels/simd/kernels.hpp"
#include "kernels/simd/lanes_avx2.hpp"
#include "kernels/simd/tables.hpp"

namespace attn::simd {

const Kernels& kernels_avx2() {
    static constexpr Kernels kernels = kernels_over<Vector<LanesAvx2>>("avx2");
    return kernels;
}

const BackwardKernels& backward_avx2() {
    static constexpr BackwardKernels kernels = backward_over<Vector<LanesAvx2>>("avx2");
    return kernels;
}

}  // namespace attn::simd
