// Dropout (Srivastava et al. 2014): each value is left out with probability p, the others are divided by 1 − p.
#pragma once

#include <cstdint>
#include <span>

namespace attn {

// Which values are left out is a function of where they are, so that the backward pass finds the same ones again.
struct Dropout {
    float probability = 0;  // 0: none
    std::uint64_t seed = 0;

    // In place, on the values of the place that `site` numbers.
    void apply(std::uint64_t site, std::span<float> values) const;
};

}  // namespace attn
