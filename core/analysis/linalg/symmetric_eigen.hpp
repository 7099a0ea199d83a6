// Eigenvalues and eigenvectors of a symmetric matrix, A = Σ_i λ_i v_i v_iᵀ, in slices short enough for a
// frame. Householder reflections make it tridiagonal, implicit QL steps make that diagonal (Golub & Van Loan,
// "Matrix Computations", 8.3; the steps are those of EISPACK's tred2 and tql2).
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

class SymmetricEigen {
  public:
    // [n, n]; all numbers are finite.
    SymmetricEigen(std::vector<double> matrix, Index n);

    bool step();  // a reflection or a QL step, O(n²) operations; true while there is more to do
    bool done() const { return next_ == n_ && !reducing_; }
    double progress() const;

    // Once done, the largest first.
    const std::vector<double>& values() const { return values_; }  // [n]
    std::span<const double> vector(Index i) const;                 // [n], of length 1

  private:
    double* row(std::vector<double>& matrix, Index i) { return matrix.data() + i * n_; }
    void reflect(Index k);
    void begin_value();
    void rotate();
    void sort();

    Index n_, next_ = 0, end_ = 0;
    bool reducing_, turning_ = false;
    std::vector<double> matrix_;           // what is left to reduce, [n, n]
    std::vector<double> vectors_;          // a row each, [n, n]
    std::vector<double> values_, beside_;  // the tridiagonal matrix: its diagonal and what stands beside it
    double shift_ = 0, largest_ = 0;
};

}  // namespace attn
