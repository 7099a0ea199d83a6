#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

std::span<const Kernels* const> all_kernels() {
    static const std::array all{&portable_kernels(), &simd::kernels128(), &simd::kernels_relaxed()};
    return all;
}

std::span<const BackwardKernels* const> all_backward() {
    static const std::array all{&simd::backward128(), &simd::backward_relaxed()};
    return all;
}

}  // namespace attn
