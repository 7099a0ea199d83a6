// Compares with the definition: no other axis captures more, and softmax does not change.
#include "analysis/theory/query_key_plane.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Row i, centred and stretched as the header says.
std::vector<double> moved_row(const QueryKeyPlane& plane, ConstMatrix rows, Index i, bool of_key) {
    std::vector<double> out;
    const std::vector<double>& mean = of_key ? plane.key_mean : plane.query_mean;
    for (Index a = 0; a < rows.cols; ++a)
        out.push_back((static_cast<double>(rows(i, a)) - mean[static_cast<std::size_t>(a)]) *
                      (of_key ? 1 / plane.stretch : plane.stretch));
    return out;
}
QueryKeyPlane query_key_plane(ConstMatrix q, ConstMatrix k) {
    QueryKeyPlaneSearch search(q, k);
    while (search.step()) continue;
    return search.plane();
}
double along(const std::vector<double>& x, const std::vector<double>& axis) {
    double sum = 0;
    for (std::size_t a = 0; a < x.size(); ++a) sum += x[a] * axis[a];
    return sum;
}

}  // namespace

TEST_CASE("the plane captures the most that two directions can, and coordinates are products with its axes",
          "[analysis]") {
    Tensor q = random_tensor({30, 7}, 5, 2), k = random_tensor({40, 7}, 6, 0.5f);
    for (Index i = 0; i < 30; ++i) q.matrix()(i, 2) = 5 * q.matrix()(i, 2) + 3;
    for (Index i = 0; i < 40; ++i) k.matrix()(i, 4) = 4 * k.matrix()(i, 4) - 1;
    const QueryKeyPlane plane = query_key_plane(q.matrix(), k.matrix());
    const auto held_by = [&](const std::vector<double>& axis) {
        double sum = 0, all = 0;
        const auto add = [&](ConstMatrix rows, bool of_key) {
            for (Index i = 0; i < rows.rows; ++i) {
                const auto x = moved_row(plane, rows, i, of_key);
                sum += std::pow(along(x, axis), 2);
                all += along(x, x);
            }
        };
        add(q.matrix(), false);
        add(k.matrix(), true);
        return sum / all;
    };
    for (std::size_t axis = 0; axis < 2; ++axis) {
        CHECK(along(plane.axes[axis], plane.axes[axis]) == Catch::Approx(1));
        CHECK(held_by(plane.axes[axis]) == Catch::Approx(plane.share[axis]));
    }
    CHECK(std::abs(along(plane.axes[0], plane.axes[1])) < 1e-12);
    CHECK(plane.share[0] >= plane.share[1]);
    Random random(9);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> other(7);
        for (double& each : other) each = random.normal();
        const double length = std::sqrt(along(other, other)), shared = along(other, plane.axes[0]);
        for (double& each : other) each /= length;
        CHECK(held_by(other) <= plane.share[0] + 1e-12);
        for (std::size_t a = 0; a < 7; ++a) other[a] = other[a] * length - shared * plane.axes[0][a];
        const double rest = std::sqrt(along(other, other));
        for (double& each : other) each /= rest;
        CHECK(held_by(other) <= plane.share[1] + 1e-12);
    }
    for (Index i = 0; i < 30; ++i)
        for (std::size_t axis = 0; axis < 2; ++axis)
            CHECK(plane.queries[static_cast<std::size_t>(i)][axis] ==
                  Catch::Approx(along(moved_row(plane, q.matrix(), i, false), plane.axes[axis])));
}

TEST_CASE("the plane's centring changes scores only by one number for each query", "[analysis]") {
    const Tensor q = random_tensor({9, 5}, 1, 3), k = random_tensor({9, 5}, 2, 0.2f);
    const QueryKeyPlane plane = query_key_plane(q.matrix(), k.matrix());
    for (Index i = 0; i < 9; ++i) {
        // c q · (k − k̄) / c = q · k − q · k̄: queries keep their mean here, because only keys may be
        // centred.
        double first = 0;
        for (Index j = 0; j < 9; ++j) {
            double before = 0, after = 0;
            const auto moved = moved_row(plane, k.matrix(), j, true);
            for (Index a = 0; a < 5; ++a) {
                before += static_cast<double>(q.matrix()(i, a)) * static_cast<double>(k.matrix()(j, a));
                after += plane.stretch * static_cast<double>(q.matrix()(i, a)) *
                         moved[static_cast<std::size_t>(a)];
            }
            if (j == 0) first = before - after;
            CHECK(before - after == Catch::Approx(first).margin(1e-12));
        }
    }
    const auto spread = [](const std::vector<double>& mean, ConstMatrix rows, double by) {
        double sum = 0;
        for (Index i = 0; i < rows.rows; ++i)
            for (Index a = 0; a < rows.cols; ++a)
                sum +=
                    std::pow(by * (static_cast<double>(rows(i, a)) - mean[static_cast<std::size_t>(a)]), 2);
        return sum / static_cast<double>(rows.rows);
    };
    CHECK(spread(plane.query_mean, q.matrix(), plane.stretch) ==
          Catch::Approx(spread(plane.key_mean, k.matrix(), 1 / plane.stretch)));
}

TEST_CASE("a plane of one token, of one component or of equal rows is still a plane", "[analysis]") {
    const Tensor one = random_tensor({1, 3}, 1), column = random_tensor({4, 1}, 2), none({5, 3});
    const QueryKeyPlane single = query_key_plane(one.matrix(), one.matrix());
    CHECK(single.stretch == 1);
    CHECK(single.queries.front() == QueryKeyPlane::Place{0, 0});
    const QueryKeyPlane line = query_key_plane(column.matrix(), column.matrix());
    CHECK(line.share[0] == Catch::Approx(1));
    CHECK(line.share[1] == 0);
    CHECK(line.axes[1] == std::vector<double>{0});
    const QueryKeyPlane still = query_key_plane(none.matrix(), none.matrix());
    CHECK(still.share == QueryKeyPlane::Place{0, 0});
}
