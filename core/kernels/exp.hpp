// Computes exp in f32 without branches, so that loops over it vectorise on any machine.
#pragma once

#include <bit>
#include <cstdint>

namespace attn {

// The result is within 2 units in the last place over the whole range; it is 0 below −104, inf above 88.73,
// and NaN for NaN. Range reduction and polynomial are those of Cephes (Moshier), expf.
inline float exp_f32(float x) {
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;

    // Adding 1.5 · 2^23 rounds to an integer, which then occupies the low bits of the sum.
    constexpr float round_to_integer = 12582912.0f;
    const float shifted = x * 1.44269504088896341f + round_to_integer;
    const float n = shifted - round_to_integer;
    const auto exponent =
        std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_to_integer);

    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;

    // 2^n is split into two factors, so that subnormal results and 2^128 come out right.
    const std::int32_t half = exponent >> 1;
    const auto power = [](std::int32_t e) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
    };
    return p * power(half) * power(exponent - half);
}

}  // namespace attn
