// The eigenvalues of a small general matrix.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// Of a matrix [size, size], row by row, the largest modulus first, of two conjugates the one with the positive imaginary part
// (Golub & Van Loan, "Matrix Computations", 7.5: the QR algorithm). Empty if some number is not finite or it does not
// converge.
std::vector<std::complex<double>> eigenvalues(Index size, std::span<const double> matrix);

}  // namespace attn
