// A bilinear form x M yᵀ whose matrix is a product of thin factors, M = L Rᵀ. One head has two (Elhage et
// al. 2021, "A Mathematical Framework for Transformer Circuits"): W_Q W_Kᵀ makes the score of two tokens'
// inputs, W_V W_O what a head writes of a token's input. Q Kᵀ is one, too, over queries and keys. Nothing
// here forms M as a whole.
#pragma once

#include <optional>
#include <vector>

#include "analysis/linalg/decompositions.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// M[i, j] = Σ_a L[i, a] R[j, a].
struct FormFactors {
    MatrixView<const double> left;   // [rows, rank]
    MatrixView<const double> right;  // [cols, rank]
    Index rows() const { return left.rows; }
    Index cols() const { return right.rows; }
    Index rank() const { return left.cols; }
};

template <typename Real>
Real form_cell(const FormFactors& factors, Index row, Index col);
// Parts of a square M: its symmetric part ½ (M + Mᵀ), its antisymmetric part ½ (M − Mᵀ).
enum class FormPart { whole, symmetric, antisymmetric };
template <typename Real>
Real form_cell(const FormFactors& factors, FormPart part, Index row, Index col);

// ‖M‖_F² = tr(LᵀL RᵀR); of a square M, its parts have ½ (‖M‖_F² ± tr M²), where tr M² = tr (RᵀL)².
struct FormSquares {
    double whole = 0, symmetric = 0, antisymmetric = 0;
    bool square = false;
};
FormSquares squares_of(const FormFactors& factors);

// M = Σ_r σ_r u_r v_rᵀ, the largest σ first: u_r is what the form reads on its left, v_r on its right. For
// each pair of directions the sign is free; the largest component of u_r is positive.
struct SingularDirections {
    std::vector<double> values;       // [directions], min(rows, cols, rank) of them
    std::vector<double> left, right;  // [directions, rows], [directions, cols]
    Index rows = 0, cols = 0;

    Index count() const { return std::ssize(values); }
    std::span<const double> left_of(Index direction) const { return of(left, rows, direction); }
    std::span<const double> right_of(Index direction) const { return of(right, cols, direction); }
    // exp of the entropy of σ_r / Σ σ: how many directions the form really has (Roy & Vetterli 2007, "The
    // effective rank"); 0 of a form that is 0.
    double effective_rank() const;

  private:
    static std::span<const double> of(const std::vector<double>& all, Index size, Index direction) {
        return std::span(all).subspan(static_cast<std::size_t>(direction * size),
                                      static_cast<std::size_t>(size));
    }
};

// Finds them in four steps: L = Q_L R_L, R = Q_R R_R, then the singular values of the small R_L R_Rᵀ, and
// back (Golub & Van Loan, "Matrix Computations", 8.6.4). Work is O((rows + cols) rank² + rank³). The factors
// stay as they are meanwhile; all of their numbers are finite.
class SingularJob {
  public:
    explicit SingularJob(const FormFactors& factors) : factors_(factors) {}
    bool step();  // true while there is more to do
    // Null before.
    const SingularDirections* directions() const { return steps_ == 4 ? &directions_ : nullptr; }

  private:
    static ThinQr thin(MatrixView<const double> factor);
    void decompose();
    void go_back();

    FormFactors factors_;
    int steps_ = 0;
    ThinQr left_, right_;
    std::vector<double> inner_left_, inner_right_;  // the small matrix's directions, column by column
    SingularDirections directions_;
};

}  // namespace attn
