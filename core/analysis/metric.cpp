#include "analysis/metric.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace attn {

Result<Metric> Metric::of(Index size, std::vector<double> g) {
    if (size < 1 || std::ssize(g) != size * size) return Error{"A metric is a square matrix."};
    const auto at = [&](Index row, Index col) { return g[static_cast<std::size_t>(row * size + col)]; };
    const auto cell = [](Index row, Index col) {
        return "g[" + std::to_string(row) + ", " + std::to_string(col) + "]";
    };
    for (Index a = 0; a < size; ++a)
        for (Index b = 0; b < size; ++b) {
            if (!std::isfinite(at(a, b))) return Error{cell(a, b) + " is not a finite number."};
            if (b < a && at(a, b) != at(b, a))
                return Error{"A metric is symmetric, but " + cell(b, a) + " and " + cell(a, b) + " differ."};
        }
    const Eigen::Map<const Eigen::MatrixXd> matrix(g.data(), size, size);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(matrix);
    const Eigen::VectorXd& values = solved.eigenvalues();
    const double least = values.cwiseAbs().minCoeff(), most = values.cwiseAbs().maxCoeff();
    if (!(least > static_cast<double>(size) * std::numeric_limits<double>::epsilon() * most))
        return Error{
            "This metric has no inverse: along some direction it is 0, and no index that was raised could "
            "be lowered again."};
    const Eigen::MatrixXd inverse =
        solved.eigenvectors() * values.cwiseInverse().asDiagonal() * solved.eigenvectors().transpose();
    Metric metric;
    metric.size_ = size;
    metric.negative_ = (values.array() < 0).count();
    metric.condition_ = most / least;
    metric.inverse_.assign(inverse.data(), inverse.data() + inverse.size());
    metric.g_ = std::move(g);
    return metric;
}

}  // namespace attn
