#include "analysis/linalg/decompositions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

namespace attn {

namespace {

using Dense = Eigen::MatrixXd;

Eigen::Map<const Dense> matrix(std::span<const double> m, Index rows, Index cols) {
    return {m.data(), rows, cols};
}
std::vector<double> numbers_of(const Dense& m) { return {m.data(), m.data() + m.size()}; }

}  // namespace

ThinQr thin_qr(std::span<const double> m, Index rows, Index cols) {
    const Eigen::HouseholderQR<Dense> qr(matrix(m, rows, cols));
    const Index least = std::min(rows, cols);
    return {least, numbers_of(qr.householderQ() * Dense::Identity(rows, least)),
            numbers_of(qr.matrixQR().topRows(least).triangularView<Eigen::Upper>())};
}

ThinSvd thin_svd(std::span<const double> m, Index rows, Index cols) {
    const Eigen::BDCSVD<Dense> svd(matrix(m, rows, cols), Eigen::ComputeThinU | Eigen::ComputeThinV);
    return {numbers_of(svd.matrixU()), numbers_of(svd.singularValues()), numbers_of(svd.matrixV())};
}

bool towards_schur_form(std::span<double> m, Index n, Index most_steps) {
    Eigen::RealSchur<Dense> schur(n);
    if (most_steps > 0) schur.setMaxIterations(most_steps);
    schur.computeFromHessenberg(matrix(m, n, n), Dense(), false);
    std::ranges::copy(std::span(schur.matrixT().data(), m.size()), m.begin());
    return schur.info() == Eigen::Success;
}

}  // namespace attn
