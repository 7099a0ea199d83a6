#include "kernels/simd/backward.hpp"
#include "kernels/simd/kernels.hpp"
#include "kernels/simd/lanes_avx512.hpp"
#include "kernels/simd/tables.hpp"

namespace attn::simd {

const Kernels& kernels_avx512() {
    static constexpr Kernels kernels = kernels_over<Vector<LanesAvx512>>("avx512");
    return kernels;
}

const BackwardKernels& backward_avx512() {
    static constexpr BackwardKernels kernels = backward_over<Vector<LanesAvx512>>("avx512");
    return kernels;
}

}  // namespace attn::simd
