// Checks that a gauge leaves every score unchanged, up to a bound on its rounding.
#include "analysis/theory/gauge.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/linalg/bilinear_form.hpp"
#include "support/numbers.hpp"
#include "unit/analysis/eigen_svd.hpp"

using namespace attn;
using namespace attn::test;

namespace {

using SquareRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

SquareRows dense(const std::vector<double>& numbers, Index size) {
    return Eigen::Map<const SquareRows>(numbers.data(), size, size);
}

std::vector<Gauge> gauges(Index size) {
    std::vector<Gauge> all;
    for (const double t : {-8.0, -1.5, -1e-3, 0.0, 0.4, 3.0, 8.0}) {
        all.push_back({GaugeKind::stretch, t, size - 1, 0, 0});
        all.push_back({GaugeKind::mix, t, 0, 1, 5});
        if (size < 2) continue;
        all.push_back({GaugeKind::rotation, t, 0, size - 1, 0});
        all.push_back({GaugeKind::shear, t, size - 1, 0, 0});
    }
    return all;
}

template <typename Real>
Real dot(const std::vector<Real>& a, const std::vector<Real>& b) {
    Real sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

TEST_CASE("G and G⁻ᵀ of a gauge invert each other, and have the stated condition") {
    for (const Index size : {1, 2, 5, 20}) {
        for (const Gauge& gauge : gauges(size)) {
            const GaugeMatrices made = gauge_matrices(gauge, size);
            const SquareRows g = dense(made.g, size), dual = dense(made.dual, size);
            // Cells are up to e⁸, and so are the terms that cancel to 0 and 1.
            const double worst =
                (g.transpose() * dual - SquareRows::Identity(size, size)).cwiseAbs().maxCoeff();
            CHECK(worst < 1e-15 * made.condition * static_cast<double>(size) + 1e-14);
            const Eigen::VectorXd values = eigen_svd(g).values;
            const double condition = values[0] / values[size - 1];
            CHECK(std::abs(condition - made.condition) < 1e-6 * made.condition);
            Gauge back = gauge;
            back.t = -gauge.t;
            const SquareRows undone = g * dense(gauge_matrices(back, size).g, size);
            CHECK((undone - SquareRows::Identity(size, size)).cwiseAbs().maxCoeff() <
                  1e-15 * made.condition * static_cast<double>(size) + 1e-14);
            if (gauge.t == 0) CHECK((g - SquareRows::Identity(size, size)).cwiseAbs().maxCoeff() < 1e-14);
        }
    }
}

TEST_CASE("under any gauge q and k change, but no score by more than the bound on its rounding") {
    for (const Index size : {1, 2, 7, 64})
        for (const float deviation : {1.0f, 1e-6f, 1e4f}) {
            const Tensor q = random_tensor({6, size}, 1, deviation), k = random_tensor({5, size}, 2);
            for (const Gauge& gauge : gauges(size)) {
                const GaugeMatrices made = gauge_matrices(gauge, size);
                for (Index i = 0; i < 6; ++i)
                    for (Index j = 0; j < 5; ++j) {
                        const auto of = [&](const Tensor& t, Index row) {
                            return std::span(t.matrix().row(row), static_cast<std::size_t>(size));
                        };
                        const std::vector<double> q64(of(q, i).begin(), of(q, i).end()),
                            k64(of(k, j).begin(), of(k, j).end());
                        const double plain = dot(q64, k64);
                        const double moved = dot(times<double>(std::span<const double>(q64), made.g),
                                                 times<double>(std::span<const double>(k64), made.dual));
                        const float single =
                            dot(times<float>(of(q, i), made.g), times<float>(of(k, j), made.dual));
                        const double bound =
                            gauge_error_bound(magnitudes(of(q, i), made.g), magnitudes(of(k, j), made.dual));
                        CHECK(std::abs(static_cast<double>(single) - plain) <= bound);
                        // The unit roundoff of double is 2⁻²⁹ of f32's; for a mix, G itself is rounded, too.
                        CHECK(std::abs(moved - plain) <= 4 * bound * 0x1p-29 * (1 + made.condition));
                    }
            }
        }
}

TEST_CASE("the gauge changes neither W_Q W_Kᵀ nor its singular values") {
    const Index d_model = 12, size = 4;
    Random random(3);
    std::vector<double> w_q, w_k;
    for (Index i = 0; i < d_model * size; ++i) {
        w_q.push_back(random.normal());
        w_k.push_back(random.normal());
    }
    const auto moved = [&](const std::vector<double>& w, const std::vector<double>& by) {
        std::vector<double> out;
        for (Index row = 0; row < d_model; ++row) {
            const auto to = times<double>(std::span(w).subspan(static_cast<std::size_t>(row * size), 4), by);
            out.insert(out.end(), to.begin(), to.end());
        }
        return out;
    };
    const auto view = [&](const std::vector<double>& w) {
        return MatrixView<const double>{w.data(), d_model, size, size};
    };
    const FormFactors before{view(w_q), view(w_k)};
    SingularJob first(before);
    while (first.step()) continue;
    for (const Gauge& gauge : gauges(size)) {
        const GaugeMatrices made = gauge_matrices(gauge, size);
        const auto q = moved(w_q, made.g), k = moved(w_k, made.dual);
        const FormFactors after{view(q), view(k)};
        const double rounding = 1e-13 * made.condition;
        for (Index i = 0; i < d_model; ++i)
            for (Index j = 0; j < d_model; ++j)
                CHECK(std::abs(form_cell<double>(after, i, j) - form_cell<double>(before, i, j)) < rounding);
        SingularJob second(after);
        while (second.step()) continue;
        for (std::size_t r = 0; r < 4; ++r)
            CHECK(std::abs(second.directions()->values[r] - first.directions()->values[r]) < 10 * rounding);
    }
}

TEST_CASE("a small gauge changes q at the rate of its generator") {
    const Index size = 5;
    const std::vector<double> q{0.3, -1, 2, 0.7, 0.1};
    // (G(h) − G(−h)) / 2h equals A, except for h² A³ / 6 and rounding of 1e-16 / h.
    constexpr double h = 1e-5;
    const auto rate = [&](Gauge gauge) {
        gauge.t = h;
        const auto up = times<double>(std::span<const double>(q), gauge_matrices(gauge, size).g);
        gauge.t = -h;
        const auto down = times<double>(std::span<const double>(q), gauge_matrices(gauge, size).g);
        std::vector<double> out;
        for (std::size_t a = 0; a < up.size(); ++a) out.push_back((up[a] - down[a]) / (2 * h));
        return out;
    };
    const auto check = [&](Gauge gauge, std::vector<double> expected) {
        const auto found = rate(gauge);
        for (std::size_t a = 0; a < q.size(); ++a) CHECK(std::abs(found[a] - expected[a]) < 1e-9);
    };
    check({GaugeKind::rotation, 0, 1, 3, 0}, {0, -q[3], 0, q[1], 0});
    check({GaugeKind::stretch, 0, 2, 0, 0}, {0, 0, q[2], 0, 0});
    check({GaugeKind::shear, 0, 4, 0, 0}, {q[4], 0, 0, 0, 0});
}
