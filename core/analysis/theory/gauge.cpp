#include "analysis/theory/gauge.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "analysis/linalg/decompositions.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Square orthogonal(std::uint32_t seed, Index size) {
    Random random(seed);
    std::vector<double> normal(static_cast<std::size_t>(size * size));
    for (double& each : normal) each = random.normal();
    return Eigen::Map<const Eigen::MatrixXd>(thin_qr(normal, size, size).q.data(), size, size);
}

}  // namespace

Gauge fitted(Gauge gauge, Index components) {
    if (components < 2 && gauge.kind != GaugeKind::mix) gauge.kind = GaugeKind::stretch;
    gauge.first = std::min(gauge.first, components - 1);
    gauge.second = std::min(gauge.second, components - 1);
    if (gauge.first == gauge.second && components > 1) gauge.second = gauge.first > 0 ? gauge.first - 1 : 1;
    return gauge;
}

GaugeMatrices gauge_matrices(const Gauge& gauge, Index size) {
    GaugeMatrices made{size, std::vector<double>(static_cast<std::size_t>(size * size)), {}, 1};
    const auto [kind, t, a, b, seed] = gauge;
    if (kind == GaugeKind::mix) {
        const Square rotation = orthogonal(seed, size);
        const auto exponential = [&](double by) {
            Eigen::VectorXd grown(size);
            for (Index i = 0; i < size; ++i) {
                const double rate =
                    size == 1 ? 1 : 1 - 2 * static_cast<double>(i) / static_cast<double>(size - 1);
                grown[i] = std::exp(by * rate);
            }
            const Square all = rotation * grown.asDiagonal() * rotation.transpose();
            return std::vector<double>(all.data(), all.data() + all.size());
        };
        made.g = exponential(t);
        made.dual = exponential(-t);
        made.condition = size == 1 ? 1 : std::exp(2 * std::abs(t));
        return made;
    }
    const auto at = [&](Index row, Index col) { return static_cast<std::size_t>(row * size + col); };
    for (Index i = 0; i < size; ++i) made.g[at(i, i)] = 1;
    made.dual = made.g;
    switch (kind) {
        case GaugeKind::rotation:
            for (auto* each : {&made.g, &made.dual}) {
                (*each)[at(a, a)] = (*each)[at(b, b)] = std::cos(t);
                (*each)[at(a, b)] = std::sin(t);
                (*each)[at(b, a)] = -std::sin(t);
            }
            break;
        case GaugeKind::stretch:
            made.g[at(a, a)] = std::exp(t);
            made.dual[at(a, a)] = std::exp(-t);
            if (size > 1) made.condition = std::exp(std::abs(t));
            break;
        case GaugeKind::shear: {
            made.g[at(a, b)] = t;
            made.dual[at(b, a)] = -t;
            const double largest = (std::abs(t) + std::sqrt(t * t + 4)) / 2;
            made.condition = largest * largest;
            break;
        }
        case GaugeKind::mix: break;
    }
    return made;
}

template <typename Real>
std::vector<Real> times(std::span<const Real> row, std::span<const double> matrix) {
    const std::size_t size = row.size();
    std::vector<Real> out(size, 0);
    for (std::size_t b = 0; b < size; ++b)
        for (std::size_t a = 0; a < size; ++a) out[a] += row[b] * static_cast<Real>(matrix[b * size + a]);
    return out;
}
template std::vector<float> times<float>(std::span<const float>, std::span<const double>);
template std::vector<double> times<double>(std::span<const double>, std::span<const double>);

std::vector<double> magnitudes(std::span<const float> row, std::span<const double> matrix) {
    const std::size_t size = row.size();
    std::vector<double> sums(size);
    for (std::size_t b = 0; b < size; ++b)
        for (std::size_t a = 0; a < size; ++a)
            sums[a] += std::abs(static_cast<double>(row[b]) * matrix[b * size + a]);
    return sums;
}

double gauge_error_bound(std::span<const double> of_q, std::span<const double> of_k) {
    double sum = 0;
    for (std::size_t a = 0; a < of_q.size(); ++a) sum += of_q[a] * of_k[a];
    const double roundings = static_cast<double>(3 * of_q.size() + 2) * 0x1p-24;
    return roundings / (1 - roundings) * sum;
}

}  // namespace attn
