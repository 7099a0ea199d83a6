// How saturated a row of softmax is: how its weights a are spread, and what of a gradient gets through it.
// The Jacobian is
//   ∂a_i/∂s_j = a_i (δ_ij − a_j),
// whose row i has the squared length a_i² ((Σ_{j≠i} a_j)² + Σ_{j≠i} a_j²). The sum of these over i,
// ‖∂A/∂S‖²_F, is Σa² − 2Σa³ + (Σa²)², which loses all of its digits where one weight is nearly 1; sums of
// positive numbers do not.
#pragma once

#include <span>
#include <vector>

namespace attn {

struct Saturation {
    double entropy = 0;   // −Σ a ln a, in nats
    double largest = 0;   // weight
    double gradient = 0;  // ‖∂A/∂S‖_F
};
// All are 0 of a row without weights, and NaN of one with a NaN.
Saturation saturation_of(std::span<const double> weights);

// The factors (Σ_{j≠i} a_j)² + Σ_{j≠i} a_j² of a_i².
std::vector<double> jacobian_factors(std::span<const double> weights);

// softmax(scale · scores)
std::vector<double> softmax(std::span<const double> scores, double scale);

}  // namespace attn
