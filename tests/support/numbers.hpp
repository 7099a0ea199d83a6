// Provides seeded tensors, and the single measure by which tests compare arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// The elements are normal deviates with the given standard deviation.
inline Tensor random_tensor(Shape shape, std::uint64_t seed, float deviation = 1) {
    Tensor tensor(std::move(shape));
    Random random(seed);
    for (float& x : tensor.values()) x = deviation * static_cast<float>(random.normal());
    return tensor;
}

// Returns the largest |actual − expected|, or inf if one is NaN or infinite and the other is not the same.
inline double largest_difference(std::span<const float> actual, std::span<const float> expected) {
    if (actual.size() != expected.size()) return HUGE_VAL;
    double largest = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
        if (a == e || (std::isnan(a) && std::isnan(e))) continue;
        const double difference = std::abs(a - e);
        if (!std::isfinite(difference)) return HUGE_VAL;
        largest = std::max(largest, difference);
    }
    return largest;
}

inline float largest_magnitude(std::span<const float> values) {
    float largest = 0;
    for (float v : values) largest = std::max(largest, std::abs(v));
    return largest;
}

}  // namespace attn::test
