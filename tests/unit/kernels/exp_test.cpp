#include "kernels/exp.hpp"

#include <array>
#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "kernels/simd/exp.hpp"
#include "kernels/simd/lanes128.hpp"
#include "support/kernels.hpp"
#include "support/this_build.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinULP;

TEST_CASE("exp_f32 is within 2 ulp of exp if the result is a normal f32", "[unit][kernels]") {
    // Takes every 1009th float between −87.33 and 88.72, of both signs.
    for (const std::uint32_t sign : {0u, 0x80000000u})
        for (std::uint32_t bits = 0;; bits += 1009 * thinned) {
            const float x = std::bit_cast<float>(bits | sign);
            if (!(x > -87.33f && x < 88.72f)) break;
            REQUIRE_THAT(exp_f32(x), WithinULP(static_cast<float>(std::exp(static_cast<double>(x))), 2));
        }
}

TEST_CASE("exp_f32 at the ends of its range", "[unit][kernels]") {
    CHECK(exp_f32(0) == 1);
    CHECK(exp_f32(-0.0f) == 1);
    CHECK(exp_f32(-infinity) == 0);
    CHECK(exp_f32(-1e30f) == 0);
    CHECK(exp_f32(-104.1f) == 0);
    CHECK(exp_f32(infinity) == infinity);
    CHECK(exp_f32(88.73f) == infinity);
    CHECK(std::isnan(exp_f32(not_a_number)));
    CHECK(std::isnan(exp_f32(-not_a_number)));
    // Subnormal results are exact to one step of 2^-149.
    CHECK(exp_f32(-100) == std::exp(-100.0f));
}

namespace {

using Vector128 = simd::Vector<simd::Lanes128>;

float first(Vector128 v) { return v.v[0]; }

// Takes every 1009th float of either sign whose magnitude is below `end`.
template <class F>
void for_each_sample(float end, F f) {
    for (const std::uint32_t sign : {0u, 0x80000000u})
        for (std::uint32_t bits = 0; std::bit_cast<float>(bits) < end; bits += 1009 * thinned)
            f(std::bit_cast<float>(bits | sign));
}

}  // namespace

TEST_CASE("The vectors' exp is within 2 ulp if the result is a normal f32", "[unit][kernels]") {
    for_each_sample(88.72f, [](float x) {
        if (x < -87.33f) return;
        const auto expected = static_cast<float>(std::exp(static_cast<double>(x)));
        REQUIRE_THAT(first(simd::Exp<Vector128>()(Vector128::broadcast(x))), WithinULP(expected, 2));
    });
}

TEST_CASE("The vectors' exp at the ends of its range", "[unit][kernels]") {
    const auto exp = [](float x) { return first(simd::Exp<Vector128>()(Vector128::broadcast(x))); };
    const auto weight_exp = [](float x) {
        return first(simd::WeightExp<Vector128>()(Vector128::broadcast(x)));
    };
    for (const float x : {-infinity, -1e30f, -104.1f}) {
        CHECK(exp(x) == 0);
        CHECK(weight_exp(x) == 0);
    }
    CHECK(exp(0) == 1);
    CHECK(weight_exp(0) == 1);
    CHECK(weight_exp(-0.0f) == 1);
    CHECK(exp(infinity) == infinity);
    CHECK(exp(88.73f) == infinity);
    for (const float x : {not_a_number, -not_a_number}) {
        CHECK(std::isnan(exp(x)));
        CHECK(std::isnan(weight_exp(x)));
    }
    // Subnormal results are within one step of 2^-149.
    for (float x = -87.34f; x > -104; x -= 0.0137f) {
        const double expected = std::exp(static_cast<double>(x));
        REQUIRE(std::abs(static_cast<double>(exp(x)) - expected) <= 0x1p-149);
    }
}

TEST_CASE("Attention's exponential is as exact as its scores", "[unit][kernels]") {
    for_each_sample(88.0f, [](float x) {
        if (x < -87.33f) return;
        const double expected = std::exp(static_cast<double>(x));
        const auto found = static_cast<double>(first(simd::WeightExp<Vector128>()(Vector128::broadcast(x))));
        REQUIRE(std::abs(found - expected) <= (2e-7 + 7.5e-8 * std::abs(static_cast<double>(x))) * expected);
    });
}

TEST_CASE("Every table's exp, seen through softmax where 1 + e^x is 1", "[unit][kernels]") {
    const Kernels& kernels = *GENERATE(from_range(fast_kernels()));
    for (float x = -87.33f; x < -17; x += 0.00137f) {
        std::array<float, 2> row{0, x};
        kernels.softmax({row.data(), 1, 2, 2});
        REQUIRE_THAT(row[1], WithinULP(static_cast<float>(std::exp(static_cast<double>(x))), 2));
    }
}

TEST_CASE("The vectors' tanh is within 3 ulp", "[unit][kernels]") {
    for_each_sample(40, [](float x) {
        const auto expected = static_cast<float>(std::tanh(static_cast<double>(x)));
        if (std::abs(x) < 1e-30f)
            REQUIRE(first(simd::Tanh<Vector128>()(Vector128::broadcast(x))) == expected);
        else
            REQUIRE_THAT(first(simd::Tanh<Vector128>()(Vector128::broadcast(x))), WithinULP(expected, 3));
    });
    CHECK(first(simd::Tanh<Vector128>()(Vector128::broadcast(infinity))) == 1);
    CHECK(first(simd::Tanh<Vector128>()(Vector128::broadcast(-infinity))) == -1);
    CHECK(std::isnan(first(simd::Tanh<Vector128>()(Vector128::broadcast(not_a_number)))));
}
