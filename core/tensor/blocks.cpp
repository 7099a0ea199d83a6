#include "tensor/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/little_endian.hpp"

namespace attn {

namespace {

using Bytes8 = const std::uint8_t*;

float half_at(Bytes8 p) { return f16_to_f32(little_endian_at<std::uint16_t>(p)); }

std::int8_t small(int value) { return static_cast<std::int8_t>(value); }

// Blocks of 32: the low nibbles are the first 16 elements, the high ones the others. `high` has a fifth bit
// of each element, from bit 0 on; null: there is none.
void nibbles(WeightBlock& block, Bytes8 low, Bytes8 high, int less) {
    const auto fifth = high ? little_endian_at<std::uint32_t>(high) : 0;
    for (std::size_t i = 0; i < 16; ++i) {
        const int first = (low[i] & 15) | (fifth >> i & 1 ? 16 : 0),
                  second = (low[i] >> 4) | (fifth >> (i + 16) & 1 ? 16 : 0);
        block.quant[i] = small(first - less);
        block.quant[i + 16] = small(second - less);
    }
}

WeightBlock of_32(float d) {
    WeightBlock block;
    block.elements = block.part = 32;
    block.d = block.scale[0] = d;
    return block;
}

WeightBlock of_32(float d, float offset) {
    WeightBlock block = of_32(d);
    block.has_offsets = true;
    block.offset[0] = offset;
    return block;
}

WeightBlock q8_0(Bytes8 p) {
    WeightBlock block = of_32(half_at(p));
    std::memcpy(block.quant.data(), p + 2, 32);
    return block;
}

// Not evenly spaced: nearer to each other around 0 (llama.cpp's kvalues_iq4nl).
constexpr std::array<std::int8_t, 16> iq4_nl_values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};

WeightBlock iq4_nl(Bytes8 p) {
    WeightBlock block = of_32(half_at(p));
    for (std::size_t i = 0; i < 16; ++i) {
        block.quant[i] = iq4_nl_values[p[2 + i] & 15];
        block.quant[i + 16] = iq4_nl_values[p[2 + i] >> 4];
    }
    return block;
}

// Blocks of 256: each part has a scale d · s, and an offset −dmin · m where there are m.
WeightBlock of_256(std::size_t part, float d) {
    WeightBlock block;
    block.elements = 256;
    block.part = part;
    block.has_small_scales = true;
    block.d = d;
    return block;
}

void scale_parts(WeightBlock& block) {
    for (std::size_t i = 0; i < block.elements / block.part; ++i) {
        block.scale[i] = block.d * static_cast<float>(block.s[i]);
        if (block.has_offsets) block.offset[i] = -(block.dmin * static_cast<float>(block.m[i]));
    }
}

WeightBlock q2_k(Bytes8 p) {
    const Bytes8 scales = p, q = p + 16;
    WeightBlock block = of_256(16, half_at(p + 80));
    block.has_offsets = true;
    block.dmin = half_at(p + 82);
    for (std::size_t i = 0; i < 16; ++i) {
        block.s[i] = small(scales[i] & 15);
        block.m[i] = small(scales[i] >> 4);
    }
    for (std::size_t i = 0; i < 256; ++i)
        block.quant[i] = small(q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3);
    scale_parts(block);
    return block;
}

WeightBlock q3_k(Bytes8 p) {
    const Bytes8 high = p, q = p + 32, scales = p + 96;
    WeightBlock block = of_256(16, half_at(p + 108));
    for (std::size_t i = 0; i < 16; ++i) {
        const int low = scales[i % 8] >> (i < 8 ? 0 : 4) & 15, upper = scales[8 + i % 4] >> (i / 4 * 2) & 3;
        block.s[i] = small((low | upper << 4) - 32);
    }
    for (std::size_t i = 0; i < 256; ++i) {
        const int low = q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        block.quant[i] = small(low - (high[i % 32] >> (i / 32) & 1 ? 0 : 4));
    }
    scale_parts(block);
    return block;
}

// The eight scales and minima of 6 bits each that Q4_K and Q5_K keep in 12 bytes.
void six_bits(WeightBlock& block, Bytes8 p) {
    for (std::size_t i = 0; i < 4; ++i) {
        block.s[i] = small(p[i] & 63);
        block.m[i] = small(p[i + 4] & 63);
        block.s[i + 4] = small((p[i + 8] & 15) | (p[i] >> 6) << 4);
        block.m[i + 4] = small((p[i + 8] >> 4) | (p[i + 4] >> 6) << 4);
    }
}

WeightBlock q4_or_q5_k(Bytes8 p, bool fifth) {
    const Bytes8 high = p + 16, q = p + (fifth ? 48 : 16);
    WeightBlock block = of_256(32, half_at(p));
    block.has_offsets = true;
    block.dmin = half_at(p + 2);
    six_bits(block, p + 4);
    for (std::size_t i = 0; i < 256; ++i) {
        const int low = q[i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
        block.quant[i] = small(low | (fifth && (high[i % 32] >> (i / 32) & 1) ? 16 : 0));
    }
    scale_parts(block);
    return block;
}

WeightBlock q6_k(Bytes8 p) {
    const Bytes8 low = p, high = p + 128, scales = p + 192;
    WeightBlock block = of_256(16, half_at(p + 208));
    std::memcpy(block.s.data(), scales, 16);
    for (std::size_t i = 0; i < 256; ++i) {
        const std::size_t half = i / 128, in_half = i % 128;
        const int four = low[half * 64 + in_half % 64] >> (in_half < 64 ? 0 : 4) & 15,
                  two = high[half * 32 + in_half % 32] >> (in_half / 32 * 2) & 3;
        block.quant[i] = small((four | two << 4) - 32);
    }
    scale_parts(block);
    return block;
}

}  // namespace

WeightBlock take_apart(DType dtype, std::span<const std::byte> bytes) {
    const auto p = reinterpret_cast<Bytes8>(bytes.data());
    switch (dtype) {
        case DType::q4_0: {
            WeightBlock block = of_32(half_at(p));
            nibbles(block, p + 2, nullptr, 8);
            return block;
        }
        case DType::q4_1: {
            WeightBlock block = of_32(half_at(p), half_at(p + 2));
            nibbles(block, p + 4, nullptr, 0);
            return block;
        }
        case DType::q5_0: {
            WeightBlock block = of_32(half_at(p));
            nibbles(block, p + 6, p + 2, 16);
            return block;
        }
        case DType::q5_1: {
            WeightBlock block = of_32(half_at(p), half_at(p + 2));
            nibbles(block, p + 8, p + 4, 0);
            return block;
        }
        case DType::q8_0: return q8_0(p);
        case DType::iq4_nl: return iq4_nl(p);
        case DType::q2_k: return q2_k(p);
        case DType::q3_k: return q3_k(p);
        case DType::q4_k: return q4_or_q5_k(p, false);
        case DType::q5_k: return q4_or_q5_k(p, true);
        case DType::q6_k: return q6_k(p);
        default: return {};
    }
}

bool has_finite_scales(DType dtype, std::span<const std::byte> block) {
    constexpr std::size_t none = most_block_elements;
    std::size_t first = 0, second = none;  // where the halves lie
    switch (dtype) {
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k: second = 2; break;
        case DType::q2_k: first = 80, second = 82; break;
        case DType::q3_k: first = 108; break;
        case DType::q6_k: first = 208; break;
        default: break;
    }
    const auto finite = [&](std::size_t at) {
        return std::isfinite(half_at(reinterpret_cast<Bytes8>(block.data()) + at));
    };
    return finite(first) && (second == none || finite(second));
}

void narrow_to_q8_0(std::span<const float> values, std::span<std::byte> blocks) {
    constexpr std::size_t elements = 32;
    for (; !values.empty(); values = values.subspan(elements), blocks = blocks.subspan(2 + elements)) {
        float most = 0;
        for (const float value : values.first(elements))
            most =
                std::isfinite(value) ? std::max(most, std::abs(value)) : value - value;  // NaN, which stays
        std::uint16_t bits = f32_to_f16(most / 127);
        float d = f16_to_f32(bits);
        if (!std::isfinite(d)) d = f16_to_f32(bits = 0x7e00);  // NaN
        std::memcpy(blocks.data(), &bits, sizeof bits);
        for (std::size_t i = 0; i < elements; ++i) {
            const float steps = d > 0 ? std::round(values[i] / d) : 0;
            blocks[2 + i] =
                static_cast<std::byte>(small(static_cast<int>(std::clamp(steps, -127.0f, 127.0f))));
        }
    }
}

void widen_blocks(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
    const auto elements = static_cast<std::size_t>(block_elements(dtype)),
               bytes = bytes_of(dtype, block_elements(dtype));
    for (std::size_t first = 0; first < out.size(); first += elements, blocks = blocks.subspan(bytes)) {
        const WeightBlock block = take_apart(dtype, blocks.first(bytes));
        for (std::size_t i = 0; i < elements; ++i) out[first + i] = block.value(i);
    }
}

}  // namespace attn
