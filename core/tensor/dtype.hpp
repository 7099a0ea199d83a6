// Element types of files, and conversion of the 16-bit formats IEEE 754 binary16 and bfloat16,
// rounding to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

enum class DType {
    boolean,
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    f16,
    bf16,
    f32,
    f64,
    // Weights alone, in blocks (tensor/blocks.hpp): a row has whole blocks.
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q8_0,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    iq4_nl,
};

std::ptrdiff_t block_elements(
    DType);                    // how many elements of a row lie together in a block; 1: each by itself
std::size_t byte_size(DType);  // the bytes of one block
std::string_view name(DType);  // "float32", "bfloat16", "Q4_K", …

// The bytes of whole blocks.
inline std::size_t bytes_of(DType dtype, std::ptrdiff_t elements) {
    return static_cast<std::size_t>(elements / block_elements(dtype)) * byte_size(dtype);
}

float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);  // overflow gives ±inf; NaN stays NaN
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

// Rounds each value to the nearest of that type; types other than f16 and bf16 leave it unchanged.
void round_to(DType dtype, std::span<float> values);

// Reads out.size() elements of `dtype`, whole blocks, from little-endian, possibly unaligned bytes;
// bytes.size() == bytes_of(dtype, out.size()).
void convert_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out);
// The elements from `first` on of those that begin at `bytes`, wherever blocks begin.
void convert_to_f32(DType dtype, const std::byte* bytes, std::ptrdiff_t first, std::span<float> out);

}  // namespace attn
