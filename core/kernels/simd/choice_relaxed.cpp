#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

// These name no other table, so that the linker leaves out those that a program never asks for.
const Kernels& default_kernels() { return simd::kernels_relaxed(); }
const BackwardKernels& default_backward() { return simd::backward_relaxed(); }

std::span<const Kernels* const> all_kernels() {
    static const std::array all{&portable_kernels(), &simd::kernels128(), &simd::kernels_relaxed()};
    return all;
}

std::span<const BackwardKernels* const> all_backward() {
    static const std::array all{&simd::backward128(), &simd::backward_relaxed()};
    return all;
}

}  // namespace attn
