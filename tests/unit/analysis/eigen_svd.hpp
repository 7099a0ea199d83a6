// Eigen's singular values and least squares, compiled once for all tests that compare with them.
#pragma once

#include <Eigen/Core>

namespace attn::test {

// m = u diag(values) vᵀ, in falling order.
struct EigenSvd {
    Eigen::MatrixXd u, v;
    Eigen::VectorXd values;
};
EigenSvd eigen_svd(const Eigen::MatrixXd& m);

// The y with the least |m y − b|.
Eigen::VectorXd least_squares(const Eigen::MatrixXd& m, const Eigen::VectorXd& b);

}  // namespace attn::test
