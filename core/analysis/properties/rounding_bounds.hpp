// How far a row of attention in f32 may be from the same row in double, before it is computed: the standard
// model of rounding, each operation off by at most u = 2⁻²⁴ of its result, and sums of n numbers by
// γ_n = n u / (1 − n u) of the sum of their magnitudes (Higham 2002, Accuracy and Stability of Numerical
// Algorithms, 2nd edition, sections 2.2 and 3.1).
//
// The score of key j is off by at most σ_j = γ_{d+2} · scale · Σ_a |q_a k_ja|, and so is its distance from
// the largest one. The exponentials' own error is that of kernels/simd/exp.hpp. Together, an exponential is
// off by a factor of at most e^{r_j}; the sum of the row, by at most e^R with R = ln Σ_j w_j e^{r_j}; and
// sums and products on the way, by e^{2g}. An output is then off by at most
//
//     Σ_j w_j |v_j| (e^{r_j + R + 2g} − 1).
#pragma once

#include <vector>

#include "attention/explain.hpp"

namespace attn {

inline constexpr double f32_roundoff = 0x1p-24;
double rounding_of_sum(double n);  // γ_n

class RowBounds {
  public:
    RowBounds(const Record& record, Index head, Index query);

    const std::vector<double>& weights() const { return weights_; }      // in double, [n_k]
    const std::vector<double>& exponents() const { return exponents_; }  // r_j + R + 2g, [n_k]
    bool is_empty() const { return empty_; }   // the query sees no key, or only scores of −inf
    double sums() const { return sums_; }      // g
    double of_row() const { return of_row_; }  // R
    // How far the logarithm of the row's sum, of which weights are made, moves all of them: e to this.
    double of_logarithm() const;
    // How far the sum of the row's weights may be from 1: e^{2R + 2g + of_logarithm()} − 1.
    double row_sum() const;

    struct Output {
        double value = 0;      // Σ_j w_j v_j
        double magnitude = 0;  // Σ_j w_j |v_j|
        double bound = 0;
        // How far rounding may take it out of the box around the values: sums alone, whatever the weights.
        double hull = 0;
        // The bound between two runs whose scores were rounded after a shift that left them so large.
        double shifted(double largest) const;
    };
    Output output(Index component) const;
    double largest_score() const { return largest_; }  // in magnitude, of those that take part

  private:
    const Record& record_;
    Index head_;
    std::vector<double> weights_, exponents_;
    double sums_ = 0, of_row_ = 0, log_sum_ = 0, largest_ = 0;
    bool empty_ = true;
};

}  // namespace attn
