// Finds out, once, which instruction sets this machine has.
#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

namespace {

// __builtin_cpu_supports also covers the operating system's part, which is to save the wider registers.
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

// Counts the vector widths that the machine has, of 128, 256 and 512 bits.
std::size_t widths() {
    static const std::size_t count = !has_avx2() ? 1 : !__builtin_cpu_supports("avx512f") ? 2 : 3;
    return count;
}

}  // namespace

std::span<const Kernels* const> all_kernels() {
    static const std::array all{&portable_kernels(), &simd::kernels128(), &simd::kernels_avx2(),
                                &simd::kernels_avx512()};
    return std::span(all).first(1 + widths());
}

std::span<const BackwardKernels* const> all_backward() {
    static const std::array all{&simd::backward128(), &simd::backward_avx2(), &simd::backward_avx512()};
    return std::span(all).first(widths());
}

const Kernels& default_kernels() { return *all_kernels().back(); }
const BackwardKernels& default_backward() { return *all_backward().back(); }

}  // namespace attn
