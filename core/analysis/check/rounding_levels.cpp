#include "analysis/check/rounding_levels.hpp"

#include <array>

namespace attn {

std::span<const RoundingLevel> rounding_levels() {
    using enum NumberFormat;
    static constexpr std::array levels{
        RoundingLevel{"f32", "f32", {f32, f32, f32, f32, f32}},
        RoundingLevel{"tf32", "TF32 factors with f32 sums", {tf32, f32, f32, tf32, f32}},
        RoundingLevel{"f16_factors", "f16 factors with an f32 output", {f16, f32, f32, f16, f32}},
        RoundingLevel{"bf16_factors", "bf16 factors with an f32 output", {bf16, f32, f32, bf16, f32}},
        RoundingLevel{"f16_f32_sums", "f16 with f32 sums", {f16, f32, f32, f16, f16}},
        RoundingLevel{
            "f16_stored_scores", "f16 with f32 sums, scores stored in f16", {f16, f32, f16, f16, f16}},
        RoundingLevel{"f16_f16_sums", "f16 with f16 sums", {f16, f16, f16, f16, f16}},
        RoundingLevel{"bf16_f32_sums", "bf16 with f32 sums", {bf16, f32, f32, bf16, bf16}},
        RoundingLevel{
            "bf16_stored_scores", "bf16 with f32 sums, scores stored in bf16", {bf16, f32, bf16, bf16, bf16}},
        RoundingLevel{"bf16_bf16_sums", "bf16 with bf16 sums", {bf16, bf16, bf16, bf16, bf16}},
        RoundingLevel{"e4m3_f32_sums", "fp8 e4m3 factors with f32 sums", {e4m3, f32, f32, e4m3, f32}},
        RoundingLevel{"e4m3_scaled", "fp8 e4m3 factors, scaled by tensor", {e4m3, f32, f32, f32, f32, true}},
        RoundingLevel{"e5m2_f32_sums", "fp8 e5m2 factors with f32 sums", {e5m2, f32, f32, e5m2, f32}},
        RoundingLevel{"e5m2_scaled", "fp8 e5m2 factors, scaled by tensor", {e5m2, f32, f32, f32, f32, true}},
    };
    return levels;
}

}  // namespace attn
