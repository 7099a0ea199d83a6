#include "analysis/linalg/moments.hpp"

#include <array>
#include <catch_amalgamated.hpp>

using namespace attn;

TEST_CASE("the variance is the mean square of the distance from the mean", "[analysis]") {
    CHECK(moments_of(std::span<const double>{}).mean == 0);
    CHECK(moments_of(std::span<const double>{}).variance == 0);
    CHECK(moments_of(std::array<float, 2>{1, 3}).mean == 2);
    CHECK(moments_of(std::array<float, 2>{1, 3}).variance == 1);
    CHECK(moments_of(std::array<double, 3>{-1, 0, 4}).mean == 1);
    CHECK(moments_of(std::array<double, 3>{-1, 0, 4}).variance == 14.0 / 3);
    // A large mean costs the variance no digits.
    CHECK(moments_of(std::array<double, 2>{1e9, 1e9 + 2}).variance == 1);
}
