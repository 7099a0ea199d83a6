// The eigenvalues of a small general matrix.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// In slices: first the matrix becomes an upper Hessenberg one, a reflection after the other, then the QR
// algorithm splits its eigenvalues off (Golub & Van Loan, "Matrix Computations", 7.4 and 7.5).
class EigenvalueSearch {
  public:
    EigenvalueSearch(Index size, std::span<const double> matrix);  // [size, size], row by row
    bool step();  // a few milliseconds at most; true while there is more to do
    bool done() const { return done_; }
    // Once done. The largest modulus first, of two conjugates the one with the positive imaginary part. Empty
    // if some number was not finite or it did not converge.
    const std::vector<std::complex<double>>& values() const { return values_; }

  private:
    void reflect();
    void split_off();
    void read_values();

    Index size_;
    std::vector<double> matrix_;  // column by column, over `scale_`
    double scale_ = 1;            // the largest magnitude
    Index reflected_ = 0;         // columns
    Index slices_ = 0;            // how many the QR algorithm took
    std::vector<std::complex<double>> values_;
    bool done_ = false;
};

std::vector<std::complex<double>> eigenvalues(Index size, std::span<const double> matrix);

}  // namespace attn
