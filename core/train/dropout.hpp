// Dropout (Srivastava et al. 2014): each value is zeroed with probability p, and the others are divided by 1
// − p.
#pragma once

#include <cstdint>
#include <span>

namespace attn {

// Which values are zeroed is a function of where they are, so that the backward pass finds the same ones
// again.
struct Dropout {
    float probability = 0;  // 0: none
    std::uint64_t seed = 0;

    // Works in place on the values at the place that `site` numbers.
    void apply(std::uint64_t site, std::span<float> values) const;
};

}  // namespace attn
