#include "analysis/eigenvalues.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

std::vector<std::complex<double>> eigenvalues(Index size, std::span<const double> matrix) {
    using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    if (!std::ranges::all_of(matrix, [](double each) { return std::isfinite(each); })) return {};
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(Eigen::Map<const Dense>(matrix.data(), size, size),
                                                     false);
    if (solver.info() != Eigen::Success) return {};
    std::vector<std::complex<double>> values(solver.eigenvalues().begin(), solver.eigenvalues().end());
    std::ranges::sort(values, {}, [](const std::complex<double>& each) {
        return std::pair(-std::norm(each), -each.imag());
    });
    return values;
}

}  // namespace attn
