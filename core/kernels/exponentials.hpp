// The two steps of a softmax that all portable kernels share: finding the largest score, and exp(score −
// largest).
#pragma once

#include <span>

#include "kernels/table.hpp"

namespace attn {

// Returns −inf if there is no score; ignores NaN.
float largest(std::span<const float> scores);

// Replaces the scores by exp(score − max) and returns their sum, both in the given precision; the caller
// rounds the sum once it is complete. If max is infinite, scores equal to +inf become 1 and all others 0. NaN
// stays NaN. Appending scores of −inf changes neither the other exponentials nor a bit of the sum.
double exponentiate(std::span<float> scores, float max, SoftmaxPrecision precision);

}  // namespace attn
