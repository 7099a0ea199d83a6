#include "analysis/theory/dot_products.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <numbers>

using namespace attn;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr double pi = std::numbers::pi;

// Simpson's rule.
double integral(double from, double to, int pieces, auto&& f) {
    const double step = (to - from) / (2 * pieces);
    double sum = f(from) + f(to);
    for (int i = 1; i < 2 * pieces; ++i) sum += (i % 2 ? 4 : 2) * f(from + step * i);
    return sum * step / 3;
}

// ln K_ν(x) for half-integer ν by the recurrence K_{ν+1} = K_{ν−1} + 2ν/x K_ν from K_½ = K_{−½} = √(π/2x)
// e^{−x}, as the logarithm of each ratio.
double log_k_by_recurrence(int steps, double x) {
    double log_k = 0.5 * std::log(pi / (2 * x)) - x, ratio = 1;
    for (int i = 0; i < steps; ++i) {
        ratio = (2 * i + 1) / x + 1 / ratio;
        log_k += std::log(ratio);
    }
    return log_k;
}

}  // namespace

TEST_CASE("ln K matches the tables, the closed forms, and the recurrence", "[analysis]") {
    // Values of K_0 and K_1 from Abramowitz & Stegun 1964, tables 9.8 and 9.9, and from mpmath.
    CHECK_THAT(log_bessel_k(0, 1), WithinAbs(std::log(0.42102443824070834), 1e-14));
    CHECK_THAT(log_bessel_k(1, 1), WithinAbs(std::log(0.60190723019723458), 1e-14));
    CHECK_THAT(log_bessel_k(0, 0.1), WithinAbs(std::log(2.4270690247020166), 1e-14));
    CHECK_THAT(log_bessel_k(0, 10), WithinAbs(std::log(1.7780062316167652e-5), 1e-13));
    // For x → 0, K_0 = −ln(x/2) − γ.
    for (const double x : {1e-12, 1e-100, 1e-290})
        CHECK_THAT(log_bessel_k(0, x), WithinAbs(std::log(-std::log(x / 2) - std::numbers::egamma), 1e-13));
    // The logarithms reach 6e4, of which a double keeps 1e-11.
    for (const double x : {1e-6, 0.5, 1.0, 30.0, 256.0, 1000.0, 1e5})
        for (const int steps : {0, 1, 2, 10, 100, 2047}) {
            INFO("order " << steps + 0.5 << " at " << x);
            const double expected = log_k_by_recurrence(steps, x);
            CHECK_THAT(log_bessel_k(steps + 0.5, x), WithinAbs(expected, 1e-13 + 1e-14 * std::abs(expected)));
        }
    // Integer orders continue by the same recurrence.
    for (const double x : {0.3, 4.0, 64.0})
        for (const double order : {1.0, 5.0, 300.0, 2047.0}) {
            const double below = log_bessel_k(order - 1, x), at = log_bessel_k(order, x),
                         above = log_bessel_k(order + 1, x);
            CHECK_THAT(std::exp(below - at) + 2 * order / x, WithinRel(std::exp(above - at), 1e-10));
        }
}

TEST_CASE("the density of q · k has its closed forms", "[analysis]") {
    for (const double x : {-7.0, -1.0, -1e-9, 1e-301, 0.2, 3.0, 40.0}) {
        const double size = std::abs(x);
        CHECK_THAT(dot_product_density(2, x), WithinRel(std::exp(-size) / 2, 1e-13));
        CHECK_THAT(dot_product_density(4, x), WithinRel((1 + size) * std::exp(-size) / 4, 1e-13));
        CHECK_THAT(dot_product_density(6, x),
                   WithinRel((3 + 3 * size + size * size) * std::exp(-size) / 16, 1e-13));
    }
    CHECK_THAT(dot_product_density(1, 1), WithinRel(0.42102443824070834 / pi, 1e-13));
    CHECK(std::isinf(dot_product_density(1, 0)));
    CHECK_THAT(dot_product_density(2, 0), WithinRel(0.5, 1e-14));
    CHECK_THAT(dot_product_density(3, 0), WithinRel(1 / pi, 1e-14));
    CHECK(dot_product_density(1, 2000) == 0);
}

TEST_CASE("the density of q · k is the inverse Fourier transform of its characteristic function",
          "[analysis]") {
    // Where (1 + t²)^(−d/2) falls below 1e-15, the integral over t ends; Simpson's rule is exact to 1e-12
    // there.
    for (const Index d : {9, 16, 64, 512, 4096})
        for (const double spreads : {0.0, 0.3, 1.0, 2.5}) {
            const double half = static_cast<double>(d) / 2, x = spreads * std::sqrt(2 * half);
            const double end = std::sqrt(std::expm1(35 / half));
            const double expected =
                integral(0, end, 20'000,
                         [&](double t) { return std::cos(t * x) * std::exp(-half * std::log1p(t * t)); }) /
                pi;
            INFO("d " << d << " at " << x);
            CHECK_THAT(dot_product_density(d, x), WithinAbs(expected, 1e-11));
        }
}

TEST_CASE("the density of q · k integrates to 1 with variance d, and over a bin to its probability",
          "[analysis]") {
    for (const Index d : {2, 3, 8, 63, 64, 512, 4096}) {
        const double spread = std::sqrt(static_cast<double>(d)), end = 60 + 9 * spread;
        INFO("d " << d);
        // Integrates one half twice, where it is smooth. For d = 3 it behaves like x² ln x at 0, which costs
        // Simpson's rule digits.
        const double tolerance = d == 3 ? 1e-6 : 1e-9;
        const auto density = [&](double x) { return dot_product_density(d, x); };
        CHECK_THAT(2 * integral(0, end, 4000, density), WithinAbs(1, tolerance));
        CHECK_THAT(2 * integral(0, end, 4000, [&](double x) { return x * x * density(x); }),
                   WithinRel(static_cast<double>(d), tolerance));
        for (const double reach : {0.1 * spread, spread, 3 * spread})
            CHECK_THAT(dot_product_within(d, reach),
                       WithinAbs(2 * integral(0, reach, 2000, density), tolerance));
    }
    CHECK(dot_product_within(7, 0) == 0);
    CHECK_THAT(dot_product_within(2, 1), WithinAbs(1 - std::exp(-1.0), 1e-14));
    CHECK_THAT(dot_product_within(1, 1e4), WithinAbs(1, 1e-14));
    // ∫ K_0 over [−1, 1] is 2 · 1.2425098486237771 (DLMF 10.43.2).
    CHECK_THAT(dot_product_within(1, 1), WithinAbs(2 * 1.2425098486237771 / pi, 1e-13));
}

TEST_CASE("for many components q · k is nearly normal", "[analysis]") {
    // The first Edgeworth term has a kurtosis of 6/d: the densities differ by 3/(4d) of the one at 0.
    for (const Index d : {256, 4096}) {
        const auto variance = static_cast<double>(d);
        const double normal = 1 / std::sqrt(2 * pi * variance);
        CHECK_THAT(dot_product_density(d, 0) / normal - 1, WithinRel(0.75 / variance, 0.01));
        CHECK_THAT(dot_product_within(d, std::sqrt(variance)),
                   WithinAbs(std::erf(1 / std::sqrt(2.0)), 1 / variance));
    }
}
