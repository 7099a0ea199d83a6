#include "tensor/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/blocks.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

template <class T>
void convert(std::span<const std::byte> bytes, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<float>(little_endian_at<T>(bytes.data() + i * sizeof(T)));
}

}  // namespace

std::ptrdiff_t block_elements(DType dtype) {
    switch (dtype) {
        case DType::q4_0:
        case DType::q4_1:
        case DType::q5_0:
        case DType::q5_1:
        case DType::q8_0:
        case DType::iq4_nl: return 32;
        case DType::q2_k:
        case DType::q3_k:
        case DType::q4_k:
        case DType::q5_k:
        case DType::q6_k: return 256;
        default: return 1;
    }
}

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
        case DType::q4_0:
        case DType::iq4_nl: return 18;
        case DType::q4_1: return 20;
        case DType::q5_0: return 22;
        case DType::q5_1: return 24;
        case DType::q8_0: return 34;
        case DType::q2_k: return 84;
        case DType::q3_k: return 110;
        case DType::q4_k: return 144;
        case DType::q5_k: return 176;
        case DType::q6_k: return 210;
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
        case DType::q4_0: return "Q4_0";
        case DType::q4_1: return "Q4_1";
        case DType::q5_0: return "Q5_0";
        case DType::q5_1: return "Q5_1";
        case DType::q8_0: return "Q8_0";
        case DType::q2_k: return "Q2_K";
        case DType::q3_k: return "Q3_K";
        case DType::q4_k: return "Q4_K";
        case DType::q5_k: return "Q5_K";
        case DType::q6_k: return "Q6_K";
        case DType::iq4_nl: return "IQ4_NL";
    }
    return "";
}

// This has no branches, so that a loop over it vectorises.
float f16_to_f32(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
    // Read as f32, the bits have an exponent that is 112 too low; the factor also makes subnormals come out
    // right.
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
                out[i] = f16_to_f32(little_endian_at<std::uint16_t>(bytes.data() + 2 * i));
            break;
        case DType::bf16:
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = bf16_to_f32(little_endian_at<std::uint16_t>(bytes.data() + 2 * i));
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
        default: widen_blocks(dtype, bytes, out); break;
    }
}

void convert_to_f32(DType dtype, const std::byte* bytes, std::ptrdiff_t first, std::span<float> out) {
    const std::ptrdiff_t elements = block_elements(dtype);
    const auto from = [&](std::ptrdiff_t element, std::ptrdiff_t count) {
        return std::span(bytes + bytes_of(dtype, element), bytes_of(dtype, count));
    };
    while (!out.empty()) {
        const std::ptrdiff_t within = first % elements, whole = std::ssize(out) / elements * elements;
        if (within == 0 && whole > 0) {
            convert_to_f32(dtype, from(first, whole), out.first(static_cast<std::size_t>(whole)));
            out = out.subspan(static_cast<std::size_t>(whole));
            first += whole;
            continue;
        }
        const WeightBlock block = take_apart(dtype, from(first - within, elements));
        const std::ptrdiff_t count = std::min(elements - within, std::ssize(out));
        for (std::ptrdiff_t i = 0; i < count; ++i)
            out[static_cast<std::size_t>(i)] = block.value(static_cast<std::size_t>(within + i));
        out = out.subspan(static_cast<std::size_t>(count));
        first += count;
    }
}

}  // namespace attn
