// The precisions in which libraries compute attention, finest first. In 16 bits, a product of two inputs is
// exact in f32; fused kernels keep scores in f32, while separate matrix products store them.
#pragma once

#include <span>
#include <string_view>

#include "analysis/check/implementation.hpp"

namespace attn {

struct RoundingLevel {
    std::string_view key;
    const char* name;  // "f16 with f32 sums"
    Precision precision;

    // 16 bits in the products, and an output that was never rounded to them.
    bool has_coarse_factors_alone() const {
        return info(precision.input).bits == 16 && info(precision.output).bits > 16;
    }
};

std::span<const RoundingLevel> rounding_levels();

inline bool is_8_bits(const RoundingLevel& level) { return info(level.precision.input).bits == 8; }

// The last level that counts as exact: a difference of that size is expected of any right program.
inline constexpr std::size_t exact_level = 0;

}  // namespace attn
