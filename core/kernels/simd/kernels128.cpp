#include "kernels/simd/backward.hpp"
#include "kernels/simd/kernels.hpp"
#include "kernels/simd/lanes128.hpp"
#include "kernels/simd/tables.hpp"

namespace attn::simd {

const Kernels& kernels128() {
    static constexpr Kernels kernels = kernels_over<Vector<Lanes128>>("simd128");
    return kernels;
}

const BackwardKernels& backward128() {
    static constexpr BackwardKernels kernels = backward_over<Vector<Lanes128>>("simd128");
    return kernels;
}

}  // namespace attn::simd
