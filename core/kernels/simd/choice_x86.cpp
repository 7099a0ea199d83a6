// What this machine has, asked of it once.
#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

namespace {

// The operating system's part, saving the wider registers, is in the answers of __builtin_cpu_supports.
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

}  // namespace

std::span<const Kernels* const> all_kernels() {
    static const std::array all{&portable_kernels(), &simd::kernels128(), &simd::kernels_avx2(),
                                &simd::kernels_avx512()};
    static const std::size_t count = !has_avx2() ? 2 : !__builtin_cpu_supports("avx512f") ? 3 : 4;
    return std::span(all).first(count);
}

}  // namespace attn
