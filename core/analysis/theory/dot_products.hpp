// How q · k is distributed if the d components of both are independent standard normal numbers. Its variance
// is d, its characteristic function (1 + t²)^(−d/2), and its density, of the variance-gamma family,
//   f(x) = |x|^ν K_ν(|x|) / (√π 2^ν Γ(d/2)),  ν = (d − 1)/2
// (Gaunt, Nadarajah & Pogány 2024, arXiv 2405.10178). For large d it tends to the normal density with
// variance d.
#pragma once

#include "tensor/tensor.hpp"

namespace attn {

// ln K_ν(x) of the modified Bessel function of the second kind, for ν >= 0 and x > 0.
double log_bessel_k(double order, double x);

// The density at x, for d >= 1. It is infinite at 0 where d is 1.
double dot_product_density(Index d, double x);
// The probability that |q · k| <= reach, for d >= 1 and reach >= 0.
double dot_product_within(Index d, double reach);

}  // namespace attn
