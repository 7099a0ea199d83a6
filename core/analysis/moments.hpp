// The mean and the variance of numbers.
#pragma once

#include <span>

namespace attn {

struct Moments {
    double mean = 0, variance = 0;  // Σ(x − mean)²/n; 0 of no numbers
};
Moments moments_of(std::span<const double> numbers);
Moments moments_of(std::span<const float> numbers);

}  // namespace attn
