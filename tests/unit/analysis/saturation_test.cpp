#include "analysis/theory/saturation.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/random.hpp"

using namespace attn;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

std::vector<double> normal_scores(std::uint64_t seed, int keys, double size) {
    Random random(seed);
    std::vector<double> scores;
    for (int key = 0; key < keys; ++key) scores.push_back(size * random.normal());
    return scores;
}

// Returns √(Σa² − 2Σa³ + (Σa²)²).
double closed_form(std::span<const double> a) {
    double squares = 0, cubes = 0;
    for (const double each : a) squares += each * each, cubes += each * each * each;
    return std::sqrt(squares - 2 * cubes + squares * squares);
}

}  // namespace

TEST_CASE("the norm of a row's Jacobian matches central differences and the closed form", "[analysis]") {
    for (const int keys : {1, 2, 3, 8, 50})
        for (const double size : {0.1, 1.0, 4.0}) {
            const std::vector<double> scores = normal_scores(static_cast<std::uint64_t>(keys), keys, size);
            const std::vector<double> weights = softmax(scores, 1);
            const double norm = saturation_of(weights).gradient;
            // The closed form loses half of its digits where the norm is small.
            CHECK_THAT(norm, WithinAbs(closed_form(weights), 1e-7));
            // A step of 1e-4 leaves an error of its square, and its rounding.
            constexpr double step = 1e-4;
            double squares = 0;
            for (std::size_t j = 0; j < scores.size(); ++j) {
                std::vector<double> more = scores, less = scores;
                more[j] += step;
                less[j] -= step;
                const std::vector<double> up = softmax(more, 1), down = softmax(less, 1);
                for (std::size_t i = 0; i < scores.size(); ++i)
                    squares += std::pow((up[i] - down[i]) / (2 * step), 2);
            }
            INFO(keys << " keys of size " << size);
            CHECK_THAT(norm, WithinAbs(std::sqrt(squares), 1e-8));
        }
}

TEST_CASE("a saturated row keeps the digits of its gradient", "[analysis]") {
    // With ε = e^{−99}, the weights are 1 − 3ε and three times ε. To first order the Jacobian's corner is 3ε,
    // the rest of its first row and column six times −ε, and the rest of its diagonal three times ε.
    const std::array<double, 4> scores{100, 1, 1, 1};
    const Saturation row = saturation_of(softmax(scores, 1));
    CHECK_THAT(row.gradient, WithinRel(std::exp(-99.0) * std::sqrt(18.0), 1e-12));
    CHECK(row.largest == 1);
    CHECK_THAT(row.entropy, WithinRel(3 * std::exp(-99.0) * 99, 1e-12));
}

TEST_CASE("rows with known weights have known numbers", "[analysis]") {
    const std::array<double, 4> even{0.25, 0.25, 0.25, 0.25};
    CHECK_THAT(saturation_of(even).entropy, WithinAbs(std::log(4.0), 1e-15));
    CHECK(saturation_of(even).largest == 0.25);
    CHECK_THAT(saturation_of(even).gradient, WithinAbs(std::sqrt(3.0) / 4, 1e-15));
    const Saturation nothing = saturation_of({}), masked = saturation_of(std::array<double, 3>{0, 0, 0}),
                     one = saturation_of(std::array<double, 3>{0, 1, 0});
    for (const Saturation& row : {nothing, masked, one}) {
        CHECK(row.entropy == 0);
        CHECK(row.gradient == 0);
    }
    CHECK(masked.largest == 0);
    CHECK(one.largest == 1);
    const Saturation odd =
        saturation_of(std::array<double, 3>{0.5, std::numeric_limits<double>::quiet_NaN(), 0.5});
    CHECK(std::isnan(odd.entropy));
    CHECK(std::isnan(odd.largest));
    CHECK(std::isnan(odd.gradient));
}

TEST_CASE("softmax sums to 1, and its scale is a temperature", "[analysis]") {
    const std::vector<double> scores = normal_scores(3, 40, 300);
    for (const double scale : {1e-4, 0.1, 1.0, 100.0}) {
        const std::vector<double> weights = softmax(scores, scale);
        CHECK_THAT(std::accumulate(weights.begin(), weights.end(), 0.0), WithinAbs(1, 1e-14));
        for (std::size_t i = 1; i < scores.size(); ++i)
            if (weights[i] > 1e-200 && weights[0] > 1e-200)
                CHECK_THAT(std::log(weights[i] / weights[0]),
                           WithinAbs(scale * (scores[i] - scores[0]), 1e-9 * scale * 300 + 1e-12));
    }
    CHECK(softmax({}, 1).empty());
}
