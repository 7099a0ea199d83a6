// Formats of floating-point numbers, emulated bit by bit. A number is rounded once, from double, to the
// nearest of the format, ties to the even one.
//
// f32, f16: IEEE 754 binary32 and binary16. bf16: the upper half of an f32. tf32: f32 with 10 bits of
// fraction, as tensor cores read the factors of a product (NVIDIA A100 whitepaper, 2020). e4m3, e5m2: 8 bits
// (Micikevicius et al. 2022, arXiv 2209.05433); e4m3 has no infinities, so that an overflow is NaN there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.hpp"

namespace attn {

enum class NumberFormat : std::uint8_t { f64, f32, tf32, bf16, f16, e5m2, e4m3 };

struct FormatInfo {
    NumberFormat format;
    std::string_view key;   // "f16"
    std::string_view name;  // "f16", "fp8 e4m3"
    int bits;               // in memory
    int exponent_bits, fraction_bits;
    int least_exponent;   // 2^least_exponent is the least normal number
    double largest;       // finite
    bool has_infinities;  // false: an overflow is NaN
};
inline constexpr std::array<FormatInfo, 7> number_formats{{
    {NumberFormat::f64, "f64", "f64", 64, 11, 52, -1022, 0x1.fffffffffffffp1023, true},
    {NumberFormat::f32, "f32", "f32", 32, 8, 23, -126, 0x1.fffffep127, true},
    {NumberFormat::tf32, "tf32", "TF32", 32, 8, 10, -126, 0x1.ffcp127, true},
    {NumberFormat::bf16, "bf16", "bf16", 16, 8, 7, -126, 0x1.fep127, true},
    {NumberFormat::f16, "f16", "f16", 16, 5, 10, -14, 65504, true},
    {NumberFormat::e5m2, "e5m2", "fp8 e5m2", 8, 5, 2, -14, 57344, true},
    {NumberFormat::e4m3, "e4m3", "fp8 e4m3", 8, 4, 3, -6, 448, false},
}};
constexpr const FormatInfo& info(NumberFormat format) {
    return number_formats[static_cast<std::size_t>(format)];
}
// Half the distance from 1 to the next number: the largest relative error of rounding a normal number.
constexpr double unit_roundoff(NumberFormat format) {
    return 0.5 / static_cast<double>(std::int64_t{1} << info(format).fraction_bits);
}
std::optional<NumberFormat> number_format(std::string_view key);

// Rounds to the nearest number of the format. An overflow gives an infinity, or NaN in e4m3.
double rounded(NumberFormat format, double value);
void round_all(NumberFormat format, std::span<double> values);

// Decodes and encodes the formats of at most 16 bits, NaN as the format's canonical one.
double decoded(NumberFormat format, std::uint16_t bits);
std::uint16_t encoded(NumberFormat format, double value);

}  // namespace attn
