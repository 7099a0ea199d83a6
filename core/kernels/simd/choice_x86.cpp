// What this machine has, asked of it once.
#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

namespace {

// The operating system's part, saving the wider registers, is in the answers of __builtin_cpu_supports.
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

// Of 128, 256 and 512 bits.
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

}  // namespace attn
