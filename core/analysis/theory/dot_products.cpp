#include "analysis/theory/dot_products.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

namespace {

// Integrates weight(t) · value(t) over all t by the trapezoidal rule, whose error falls exponentially with
// 1/step for such functions (Trefethen & Weideman 2014, doi 10.1137/130932132). The weight is log-concave and
// 1 at t = 0, its largest value, and `spread` is its width there.
double integral(double spread, auto&& weight, auto&& value) {
    constexpr double negligible = 1e-20;
    const double step = std::min(0.25, spread / 2);
    double sum = value(0.0);
    for (const double side : {-step, step})
        for (int i = 1;; ++i) {
            const double t = i * side, w = weight(t);
            if (w < negligible) break;
            sum += w * value(t);
        }
    return step * sum;
}

}  // namespace

// K_ν(x) = ½ ∫ exp(νt − x cosh t) dt over all t (DLMF 10.32.9). The exponent is largest at t = arsinh(ν/x);
// at a distance t from there it is νt − (s + ν)/2 (e^t − 1) − (s − ν)/2 (e^−t − 1) more, where s = √(x² +
// ν²).
double log_bessel_k(double order, double x) {
    const double s = std::hypot(x, order), more = (s + order) / 2, less = x / (s + order) * x / 2;
    const auto weight = [&](double t) {
        return std::exp(order * t - more * std::expm1(t) - less * std::expm1(-t));
    };
    const double sum = integral(1 / std::sqrt(s), weight, [](double) { return 1.0; });
    return order * std::asinh(order / x) - s + std::log(sum / 2);
}

double dot_product_density(Index d, double x) {
    constexpr double tiny = 1e-300;  // below it, the density is that at 0
    const double half = static_cast<double>(d) / 2, order = half - 0.5, size = std::abs(x);
    if (size < tiny) {
        if (d == 1) return HUGE_VAL;
        return std::exp(std::lgamma(order) - std::lgamma(half)) / (2 * std::sqrt(std::numbers::pi));
    }
    return std::exp(order * std::log(size / 2) + log_bessel_k(order, size) - std::lgamma(half)) /
           std::sqrt(std::numbers::pi);
}

// Given k, q · k is normal with variance ‖k‖², which is chi-squared with d degrees of freedom: the
// probability is the mean of erf(reach / √(2‖k‖²)). In t = ln(‖k‖²/d), the density is proportional to exp(d/2
// · (t − e^t)).
double dot_product_within(Index d, double reach) {
    const auto components = static_cast<double>(d);
    const auto weight = [&](double t) { return std::exp(components / 2 * (t - std::expm1(t))); };
    const auto within = [&](double t) {
        return std::erf(reach / std::sqrt(2 * components) * std::exp(-t / 2));
    };
    const double spread = std::sqrt(2 / components);
    return integral(spread, weight, within) / integral(spread, weight, [](double) { return 1.0; });
}

}  // namespace attn
