#include "unit/analysis/eigen_svd.hpp"

#include <Eigen/SVD>

namespace attn::test {

namespace {

Eigen::JacobiSVD<Eigen::MatrixXd> decomposed(const Eigen::MatrixXd& m) {
    return Eigen::JacobiSVD<Eigen::MatrixXd>(m, Eigen::ComputeThinU | Eigen::ComputeThinV);
}

}  // namespace

EigenSvd eigen_svd(const Eigen::MatrixXd& m) {
    const auto svd = decomposed(m);
    return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

Eigen::VectorXd least_squares(const Eigen::MatrixXd& m, const Eigen::VectorXd& b) {
    return decomposed(m).solve(b);
}

}  // namespace attn::test
