// Fits a power law y = c · x^p to measured points, by least squares of ln y over ln x, with the standard
// error of the exponent.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct PowerFit {
    double exponent = 0;
    double log_factor = 0;  // ln c
    double error = 0;       // standard error of the exponent: √(Σ r² / (n − 2) / Σ (ln x − mean)²)
    double scatter = 0;     // standard deviation of the residuals r of ln y: √(Σ r² / (n − 2))
    Range points{};         // which of the given ones it fits

    double at(double x) const;
};
// Fits some of the points. Needs three of them, all positive, at two or more places.
std::optional<PowerFit> power_fit(std::span<const double> x, std::span<const double> y, Range points);
inline std::optional<PowerFit> power_fit(std::span<const double> x, std::span<const double> y) {
    return power_fit(x, y, {0, std::ssize(x)});
}

// What the fit is made of: of each of its points, ln x and ln y less their means, and the residual r of ln y.
struct FittedPoints {
    std::vector<double> x, y, residuals;
};
FittedPoints fitted_points(std::span<const double> x, std::span<const double> y, const PowerFit& fit);

// y = a x^p + b x^(p−1): what grows with a given power, and the part of the power below it.
struct LeadingTerm {
    double power = 1, leading = 0, lower = 0;
    double share(double x) const;  // the leading term's, from 0 to 1
};
// Minimises the sum of squared relative residuals over a, b >= 0. Needs two points.
std::optional<LeadingTerm> leading_term(std::span<const double> x, std::span<const double> y, double power);

// Fits the exponent over the largest x, down to the first at which the leading term is at least this share of
// y, and over at least four points if there are so many. `x` ascends.
std::optional<PowerFit> dominant_fit(std::span<const double> x, std::span<const double> y, double power,
                                     double least_share);

}  // namespace attn
