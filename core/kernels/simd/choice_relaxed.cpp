#include <array>

#include "kernels/simd/tables.hpp"

namespace attn {

std::span<const Kernels* const> all_kernels() {
    static const std::array all{&portable_kernels(), &simd::kernels128(), &simd::kernels_relaxed()};
    return all;
}

}  // namespace attn
