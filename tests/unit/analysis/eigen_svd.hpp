// Wraps Eigen's singular values and least squares, compiled once for all tests that compare with them.
#pragma once

#include <Eigen/Core>

namespace attn::test {

// m = u diag(values) vᵀ, in descending order.
struct EigenSvd {
    Eigen::MatrixXd u, v;
    Eigen::VectorXd values;
};
EigenSvd eigen_svd(const Eigen::MatrixXd& m);

// Returns the shortest y that minimises |m y − b|.
Eigen::VectorXd least_squares(const Eigen::MatrixXd& m, const Eigen::VectorXd& b);

}  // namespace attn::test
