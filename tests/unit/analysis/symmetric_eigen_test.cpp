#include "analysis/linalg/symmetric_eigen.hpp"

#include <Eigen/Eigenvalues>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <numeric>

#include "tensor/random.hpp"

using namespace attn;

namespace {

using EigenRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

SymmetricEigen eigen_of(const EigenRows& a) {
    SymmetricEigen eigen({a.data(), a.data() + a.size()}, a.rows());
    double progress = 0;
    while (eigen.step()) {
        CHECK(eigen.progress() >= progress);
        progress = eigen.progress();
    }
    CHECK(eigen.done());
    CHECK_FALSE(eigen.step());
    return eigen;
}

// Compares with Eigen's values, and checks the definition of eigenvectors: A v = λ v, with length 1 and at
// right angles. Both are off by a small multiple of n ε ‖A‖.
void check_eigen(const EigenRows& a) {
    const SymmetricEigen eigen = eigen_of(a);
    const Eigen::SelfAdjointEigenSolver<EigenRows> expected(a);
    const Index n = a.rows();
    const double close = 1e-13 * static_cast<double>(n) * (1 + a.norm());
    REQUIRE(std::ssize(eigen.values()) == n);
    for (Index i = 0; i < n; ++i) {
        CAPTURE(n, i);
        CHECK(std::abs(eigen.values()[static_cast<std::size_t>(i)] - expected.eigenvalues()(n - 1 - i)) <
              close);
        const Eigen::Map<const Eigen::VectorXd> v(eigen.vector(i).data(), n);
        CHECK((a * v - eigen.values()[static_cast<std::size_t>(i)] * v).norm() < close);
        for (Index j = 0; j <= i; ++j) {
            const Eigen::Map<const Eigen::VectorXd> w(eigen.vector(j).data(), n);
            CHECK(std::abs(v.dot(w) - (i == j ? 1 : 0)) < 1e-12 * static_cast<double>(n));
        }
    }
}

}  // namespace

TEST_CASE("eigenvectors of symmetric matrices of any size, full and of low rank", "[analysis]") {
    Random random(5);
    for (const Index n : {1, 2, 3, 4, 7, 16, 33, 60})
        for (const Index rank : {n, (n + 1) / 2, Index{1}}) {
            EigenRows factor(n, rank);
            for (Index i = 0; i < factor.size(); ++i) factor.data()[i] = random.normal();
            check_eigen(factor * factor.transpose());
            check_eigen(-1e6 * factor * factor.transpose());
        }
}

TEST_CASE("eigenvectors where values are equal, zero, or far apart", "[analysis]") {
    for (const Index n : {1, 2, 3, 8}) {
        check_eigen(EigenRows::Zero(n, n));
        check_eigen(EigenRows::Identity(n, n));
        check_eigen(EigenRows::Ones(n, n));
        EigenRows wide = EigenRows::Zero(n, n);
        for (Index i = 0; i < n; ++i) wide(i, i) = std::pow(10.0, static_cast<double>(i % 2 ? -i : i));
        check_eigen(wide);
    }
    // This one is already tridiagonal; the second difference has the eigenvalues 2 − 2 cos(π i / (n + 1)).
    const Index n = 12;
    EigenRows second = 2 * EigenRows::Identity(n, n);
    for (Index i = 0; i + 1 < n; ++i) second(i, i + 1) = second(i + 1, i) = -1;
    check_eigen(second);
    const SymmetricEigen eigen = eigen_of(second);
    for (Index i = 0; i < n; ++i)
        CHECK(eigen.values()[static_cast<std::size_t>(n - 1 - i)] ==
              Catch::Approx(2 - 2 * std::cos(std::acos(-1.0) * static_cast<double>(i + 1) / 13))
                  .epsilon(1e-12));
}
