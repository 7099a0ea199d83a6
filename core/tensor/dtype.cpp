#include "tensor/dtype.hpp"

#include <bit>
#include <cstring>

namespace attn {

namespace {

template <class T>
T load(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

template <class T>
void convert(std::span<const std::byte> bytes, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(load<T>(bytes.data() + i * sizeof(T)));
}

}  // namespace

std::size_t byte_size(DType dtype) {
    switch (dtype) {
        case DType::boolean:
        case DType::u8:
        case DType::i8: return 1;
        case DType::u16:
        case DType::i16:
        case DType::f16:
        case DType::bf16: return 2;
        case DType::u32:
        case DType::i32:
        case DType::f32: return 4;
        case DType::u64:
        case DType::i64:
        case DType::f64: return 8;
    }
    return 0;
}

std::string_view name(DType dtype) {
    switch (dtype) {
        case DType::boolean: return "bool";
        case DType::u8: return "uint8";
        case DType::i8: return "int8";
        case DType::u16: return "uint16";
        case DType::i16: return "int16";
        case DType::u32: return "uint32";
        case DType::i32: return "int32";
        case DType::u64: return "uint64";
        case DType::i64: return "int64";
        case DType::f16: return "float16";
        case DType::bf16: return "bfloat16";
        case DType::f32: return "float32";
        case DType::f64: return "float64";
    }
    return "";
}

// This has no branches, so that a loop over it vectorises.
float f16_to_f32(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
    // Read as f32, the bits have an exponent that is 112 too low; the factor also makes subnormals come out right.
    const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t inf_or_nan = magnitude >= (0x7c00u << 13) ? 0x7f800000u : 0u;
    return std::bit_cast<float>(sign | scaled | inf_or_nan);
}

std::uint16_t f32_to_f16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and above round to inf
    std::uint32_t half;
    if (magnitude < 0x38800000u) {  // below 2^-14, adding 0.5 makes the adder round to multiples of 2^-24
        const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
        half = std::bit_cast<std::uint32_t>(rounded) - 0x3f000000u;
    } else {
        const std::uint32_t odd = (magnitude >> 13) & 1u;
        half = (magnitude - ((127u - 15u) << 23) + 0xfffu + odd) >> 13;
    }
    return static_cast<std::uint16_t>(sign | half);
}

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t f32_to_bf16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void round_to(DType dtype, std::span<float> values) {
    if (dtype == DType::f16)
        for (float& v : values) v = f16_to_f32(f32_to_f16(v));
    if (dtype == DType::bf16)
        for (float& v : values) v = bf16_to_f32(f32_to_bf16(v));
}

void convert_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
    switch (dtype) {
        case DType::f32:
            if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size_bytes());
            break;
        case DType::f16:
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = f16_to_f32(load<std::uint16_t>(bytes.data() + 2 * i));
            break;
        case DType::bf16:
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = bf16_to_f32(load<std::uint16_t>(bytes.data() + 2 * i));
            break;
        case DType::boolean:
        case DType::u8: convert<std::uint8_t>(bytes, out); break;
        case DType::i8: convert<std::int8_t>(bytes, out); break;
        case DType::u16: convert<std::uint16_t>(bytes, out); break;
        case DType::i16: convert<std::int16_t>(bytes, out); break;
        case DType::u32: convert<std::uint32_t>(bytes, out); break;
        case DType::i32: convert<std::int32_t>(bytes, out); break;
        case DType::u64: convert<std::uint64_t>(bytes, out); break;
        case DType::i64: convert<std::int64_t>(bytes, out); break;
        case DType::f64: convert<double>(bytes, out); break;
    }
}

}  // namespace attn
