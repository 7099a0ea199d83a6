// Eigen's decompositions, each of which takes the compiler several seconds. Matrices lie column by column.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// M = Q R, with the columns of Q orthonormal and R upper triangular (Golub & Van Loan, "Matrix Computations",
// 5.2).
struct ThinQr {
    Index least = 0;           // min(rows, cols) of M
    std::vector<double> q, r;  // [rows, least], [least, cols]
};
ThinQr thin_qr(std::span<const double> m, Index rows, Index cols);

// M = Σ_i values_i left_i right_iᵀ, the largest value first (ibid., 8.6).
struct ThinSvd {
    std::vector<double> left, values, right;  // [rows, least], [least], [cols, least]
};
ThinSvd thin_svd(std::span<const double> m, Index rows, Index cols);

// Takes at most so many steps of the QR algorithm from an upper Hessenberg matrix m [n, n] to its real Schur
// form, on whose diagonal blocks of two by two are pairs of conjugate eigenvalues (ibid., 7.5). True once it
// is there. 0 steps: as many as it needs, or no success.
bool towards_schur_form(std::span<double> m, Index n, Index most_steps);

}  // namespace attn
