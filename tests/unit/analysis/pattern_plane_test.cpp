#include "analysis/theory/pattern_plane.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/numbers.hpp"
#include "tensor/random.hpp"
#include "unit/analysis/hopfield_patterns.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE(
    "principal components are directions of the covariance, and no plane through the mean captures more of "
    "it") {
    Random random(2);
    for (const auto& [count, d] : {std::pair<Index, Index>{30, 5}, {8, 20}, {300, 3}}) {
        Tensor k = random_tensor({count, d}, 9);
        for (Index j = 0; j < count; ++j) {
            k.matrix()(j, 0) *= 3;
            k.matrix()(j, 1) *= 2;
            k.matrix()(j, 2) += 5;
        }
        const PatternPointer patterns = patterns_from(k);
        PrincipalPlane principal(patterns);
        while (principal.step()) continue;
        const PatternPlane& plane = principal.plane();
        const auto spread = [&](const std::vector<double>& direction) {
            double sum = 0;
            for (Index j = 0; j < count; ++j) {
                double along = 0;
                for (std::size_t a = 0; a < direction.size(); ++a)
                    along += (patterns->in_double(j)[a] - patterns->mean[a]) * direction[a];
                sum += along * along;
            }
            return sum;
        };
        const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
            double sum = 0;
            for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
            return sum;
        };
        CHECK(dot(plane.across, plane.across) == Catch::Approx(1).epsilon(1e-12));
        CHECK(dot(plane.up, plane.up) == Catch::Approx(1).epsilon(1e-12));
        CHECK(std::abs(dot(plane.across, plane.up)) < 1e-12);
        const double held = spread(plane.across) + spread(plane.up);
        CHECK(spread(plane.across) >= spread(plane.up));
        for (int trial = 0; trial < 200; ++trial) {
            std::vector<double> a(plane.across), b(plane.up);
            const double by = trial % 2 == 0 ? 1 : 1e-3;  // any plane, and one close to it
            for (double& each : a) each = (trial % 2 == 0 ? 0 : each) + by * random.normal();
            for (double& each : b) each = (trial % 2 == 0 ? 0 : each) + by * random.normal();
            std::vector<double> first = patterns->mean, second = patterns->mean;
            for (std::size_t i = 0; i < a.size(); ++i) first[i] += a[i], second[i] += b[i];
            const PatternPlane other = plane_through(*patterns, first, second);
            CHECK(spread(other.across) + spread(other.up) <= held * (1 + 1e-9));
        }
        const auto shares = principal.shares();
        double whole = 0;
        for (Index j = 0; j < count; ++j)
            whole += std::pow(distance_between(patterns->in_double(j), patterns->mean), 2);
        CHECK(shares[0] == Catch::Approx(spread(plane.across) / whole).epsilon(1e-9));
        CHECK(shares[1] == Catch::Approx(spread(plane.up) / whole).epsilon(1e-9));
    }
}

TEST_CASE("a plane goes through the mean and its two points; without a direction the coordinates are 0") {
    const PatternPointer patterns = patterns_from(random_tensor({6, 4}, 3));
    const std::vector<double> q{1, -2, 0.5, 3};
    const PatternPlane plane = plane_through(*patterns, q, patterns->in_double(2));
    for (const std::vector<double>& point : {q, patterns->mean, patterns->in_double(2)})
        CHECK(plane.distance_to(point) < 1e-12);
    CHECK(plane.place_of(q)[0] == Catch::Approx(distance_between(q, patterns->mean)));
    CHECK(std::abs(plane.place_of(q)[1]) < 1e-12);
    const auto point = plane.point_at({0.3, -0.7});
    CHECK(plane.place_of(point)[0] == Catch::Approx(0.3));
    CHECK(plane.place_of(point)[1] == Catch::Approx(-0.7));
    const std::vector<double> none(4, 0);
    CHECK(plane_through(*patterns, q, q).up == none);
    CHECK(plane_through(*patterns, patterns->mean, q).across == none);
    PrincipalPlane alike(patterns_from(3, 2, {1, 1, 1, 1, 1, 1}));
    while (alike.step()) continue;
    CHECK(alike.plane().across == std::vector<double>{0, 0});
    CHECK(alike.shares() == std::array<double, 2>{0, 0});
    PrincipalPlane line(patterns_from(3, 1, {1, 2, 4}));
    while (line.step()) continue;
    CHECK(line.plane().across == std::vector<double>{1});
    CHECK(line.plane().up == std::vector<double>{0});
}

TEST_CASE("every place in the picture of basins shows where a retrieval from there ends") {
    const PatternPointer patterns = patterns_from(random_tensor({7, 3}, 12));
    PrincipalPlane principal(patterns);
    while (principal.step()) continue;
    for (const double beta : {0.1, 1.2, 30.0}) {
        const Basins::Box box{{-2.5, -2.5}, {2.5, 2.5}};
        Basins basins(patterns, beta, principal.plane(), box);
        Index last = basins.side();
        while (basins.step()) {
            CHECK(basins.side() >= last);  // coarse first
            last = basins.side();
        }
        REQUIRE(basins.side() == Basins::finest);
        Index counted = 0;
        for (const Basins::End& end : basins.ends()) counted += end.places;
        for (Index row = 3; row < basins.side(); row += 11)
            for (Index col = 1; col < basins.side(); col += 9) {
                const auto along = [&](Index i) { return -2.5 + 5 * (static_cast<double>(i) + 0.5) / 128; };
                Retrieval retrieval(patterns, beta, principal.plane().point_at({along(col), along(row)}));
                while (retrieval.step()) continue;
                const std::uint8_t end = basins.end_at(row, col);
                if (end == Basins::moving) {
                    CHECK(retrieval.steps() > Basins::most_steps / 2);
                    continue;
                }
                REQUIRE(end < basins.ends().size());
                CHECK(distance_between(basins.ends()[end].state, retrieval.end()) <=
                      2e-3 * patterns->largest);
            }
        if (beta == 0.1) CHECK(basins.ends().size() == 1);
        if (beta == 30) CHECK(basins.ends().size() >= 3);
        CHECK(counted <= Basins::finest * Basins::finest);
    }
}
