#include "maps/value_scale.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/numbers.hpp"

using namespace attn;
using test::infinity;

namespace {

ValueScale scale_of(Scaling scaling, bool diverging, float high, Quantiles& quantiles) {
    std::vector<float> values;
    for (int i = -500; i <= 500; ++i) values.push_back(high * static_cast<float>(i * i * i) / 1.25e8f);
    quantiles = quantiles_of(values, 1);
    return {high, diverging, scaling, &quantiles, 0};
}

}  // namespace

// The bound 1e-5 is for logarithms and their inverse in f32.
TEST_CASE("A place on the bar and its value correspond", "[maps]") {
    for (const Scaling scaling : {Scaling::linear, Scaling::logarithmic, Scaling::rank})
        for (const bool diverging : {false, true})
            for (const float high : {1.0f, 3e-3f, 2e4f}) {
                Quantiles quantiles;
                const ValueScale scale = scale_of(scaling, diverging, high, quantiles);
                for (int i = 0; i <= 40; ++i) {
                    const float at = static_cast<float>(i) / 40;
                    CAPTURE(static_cast<int>(scaling), diverging, high, at);
                    CHECK(std::abs(scale.position(scale.value_at(at)) - at) <= 1e-5f);
                }
                CHECK(scale.position(high) == 1);
                CHECK(scale.position(2 * high) == 1);
                CHECK(scale.position(0) == (diverging ? 0.5f : 0.0f));
                CHECK(scale.position(-high) == 0);
            }
}

TEST_CASE("Logarithmic scales spread four decades evenly", "[maps]") {
    const ValueScale scale{1, false, Scaling::logarithmic, nullptr, 0};
    // Compares with ln(1 + 10^k) / ln(1 + 10^4), computed from its definition in double. The bound 1e-6 is
    // for one logarithm in f32.
    for (int k = -1; k <= 4; ++k)
        CHECK(std::abs(static_cast<double>(scale.share(std::pow(10.0f, static_cast<float>(k - 4)))) -
                       std::log1p(std::pow(10.0, k)) / std::log1p(1e4)) <= 1e-6);
}

TEST_CASE("A rank is the share of magnitudes below", "[maps]") {
    Random random(3);
    std::vector<float> values(5000);
    for (float& v : values) v = static_cast<float>(std::exp(3 * random.normal()));
    const Quantiles quantiles = quantiles_of(values, 1);
    const ValueScale scale{*std::ranges::max_element(values), false, Scaling::rank, &quantiles, 0};
    for (std::size_t i = 0; i < values.size(); i += 37) {
        const auto below = std::ranges::count_if(values, [&](float v) { return v < values[i]; });
        // The result must be within one of the 255 parts.
        CHECK(std::abs(scale.share(values[i]) - static_cast<float>(below) / 5000) <= 1.0f / 255);
    }
}

TEST_CASE("Quantiles skip numbers that are not finite", "[maps]") {
    const std::vector<float> odd{-infinity, infinity, std::numeric_limits<float>::quiet_NaN()};
    CHECK(quantiles_of(odd, 7).values == std::array<float, 256>{});
    std::vector<float> some = odd;
    some.insert(some.end(), {-2, 1});
    const Quantiles found = quantiles_of(some, 7);
    CHECK(found.serial == 7);
    CHECK(found.values.front() == 1);
    CHECK(found.values.back() == 2);
}

TEST_CASE("Equal magnitudes have one rank, and ends their places", "[maps]") {
    const std::vector<float> values(100, 0.25f);
    const Quantiles quantiles = quantiles_of(values, 1);
    const ValueScale scale{1, false, Scaling::rank, &quantiles, 0};
    CHECK(scale.share(0.1f) == 0);
    CHECK(scale.share(0.25f) == 1);
    CHECK(scale.magnitude(0.5f) == 0.25f);
}

TEST_CASE("Values below the least are coloured as zero", "[maps]") {
    ValueScale scale{1, false, Scaling::linear, nullptr, 0.3f};
    CHECK(scale.coloured(0.2f) == 0);
    CHECK(scale.coloured(0.4f) == scale.position(0.4f));
    scale.diverging = true;
    CHECK(scale.coloured(-0.2f) == 0.5f);
    CHECK(scale.coloured(-0.4f) == scale.position(-0.4f));
}
