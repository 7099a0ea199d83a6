#include "analysis/eigenvalues.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace attn {

std::vector<std::complex<double>> eigenvalues(Index size, std::span<const double> matrix) {
    using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    if (!std::ranges::all_of(matrix, [](double each) { return std::isfinite(each); })) return {};
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(Eigen::Map<const Dense>(matrix.data(), size, size),
                                                     false);
    if (solver.info() != Eigen::Success) return {};
    std::vector<std::complex<double>> values(solver.eigenvalues().begin(), solver.eigenvalues().end());
    std::ranges::stable_sort(values, [](const auto& a, const auto& b) {
        const double moduli[]{std::norm(a), std::norm(b)};
        // Conjugates have the same modulus but for rounding.
        const bool conjugate = a == std::conj(b);
        return conjugate ? a.imag() > b.imag() : moduli[0] > moduli[1];
    });
    return values;
}

}  // namespace attn
