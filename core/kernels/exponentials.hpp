// The two steps of a softmax that every portable kernel shares: the largest score, and exp(score − largest).
#pragma once

#include <span>

#include "kernels/table.hpp"

namespace attn {

// −inf for no score; NaN is left aside.
float largest(std::span<const float> scores);

// Replaces the scores by exp(score − max) and returns their sum, both in the precision asked for; the caller
// rounds the sum once it is complete. Where max is infinite, scores equal to +inf count 1 and all others 0; NaN
// stays NaN. Appended scores of −inf change neither the exponentials nor a bit of the sum.
double exponentiate(std::span<float> scores, float max, SoftmaxPrecision precision);

}  // namespace attn
