#include "kernels/exp.hpp"

#include <bit>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinULP;

TEST_CASE("exp_f32 is within 2 ulp of exp wherever the result is a normal f32", "[unit][kernels]") {
    // Every 1009th float between −87.33 and 88.72, of both signs.
    for (const std::uint32_t sign : {0u, 0x80000000u})
        for (std::uint32_t bits = 0;; bits += 1009) {
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
