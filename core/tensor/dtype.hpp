// Element types of files, and conversion of the 16-bit formats IEEE 754 binary16 and bfloat16,
// rounding to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

enum class DType { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

std::size_t byte_size(DType);
std::string_view name(DType);  // "float32", "bfloat16", …

float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);  // overflow gives ±inf; NaN stays NaN
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

// Rounds each value to the nearest of that type; types other than f16 and bf16 leave it unchanged.
void round_to(DType dtype, std::span<float> values);

// Reads out.size() elements of `dtype` from little-endian, possibly unaligned bytes;
// bytes.size() == out.size() * byte_size.
void convert_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace attn
