#include "kernels/simd/backward.hpp"
#include "kernels/simd/kernels.hpp"
#include "kernels/simd/lanes_relaxed.hpp"
#include "kernels/simd/tables.hpp"

namespace attn::simd {

const Kernels& kernels_relaxed() {
    static constexpr Kernels kernels = kernels_over<Vector<LanesRelaxed>>("relaxed simd128");
    return kernels;
}

const BackwardKernels& backward_relaxed() {
    static constexpr BackwardKernels kernels = backward_over<Vector<LanesRelaxed>>("relaxed simd128");
    return kernels;
}

}  // namespace attn::simd
