#include "analysis/linalg/rank_correlation.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

using namespace attn;

TEST_CASE("the rank correlation matches the textbook", "[analysis]") {
    // Without ties it is 1 − 6 Σ d² / (n (n² − 1)), where d is the difference of two ranks: here Σ d² = 194.
    const std::vector<double> quotients{106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
        hours{7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
    CHECK(rank_correlation(quotients, hours) == Catch::Approx(1 - 6.0 * 194 / 990).epsilon(1e-14));
    // Only the order matters.
    std::vector<double> bent;
    for (const double each : hours) bent.push_back(-std::exp(each / 10));
    CHECK(rank_correlation(quotients, bent) == Catch::Approx(6.0 * 194 / 990 - 1).epsilon(1e-14));
    CHECK(rank_correlation(hours, hours) == Catch::Approx(1).epsilon(1e-14));
}

TEST_CASE("equal numbers share the mean of their ranks, and constant numbers have no correlation",
          "[analysis]") {
    CHECK(ranks_of(std::vector<double>{2, 1, 2, 3}) == std::vector<double>{1.5, 0, 1.5, 3});
    // Ranks 0, 1.5, 1.5, 3 and 0, 2, 1, 3: 4.5 / √(4.5 · 5).
    CHECK(rank_correlation(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 3, 2, 4}) ==
          Catch::Approx(3 / std::sqrt(10)).epsilon(1e-14));
    CHECK(rank_correlation(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}) == 0);
    CHECK(rank_correlation({}, {}) == 0);
}
