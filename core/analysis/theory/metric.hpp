// A metric between the components of queries and keys. A query has lower indices, q_b; a symmetric matrix
// g^{ab} raises them, q^a = g^{ab} q_b, and the score of a key is q^a k_a = Σ_ab q_a g^{ab} k_b. Plain
// attention has the identity, and its scale 1/√d_k is the metric δ^{ab} / √d_k. The inverse g_{ab} lowers
// again. Scores under g are those of W_Q g W_Kᵀ: a layer that may learn W_Q has learnt its metric already.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

class Metric {
  public:
    // `g` is [size, size], row by row. Refused with one sentence unless it is symmetric, finite and
    // invertible: its smallest eigenvalue is more than rounding leaves of the largest, in magnitude.
    static Result<Metric> of(Index size, std::vector<double> g);

    Index size() const { return size_; }
    std::span<const double> g() const { return g_; }              // g^{ab}
    std::span<const double> inverse() const { return inverse_; }  // g_{ab}
    Index negative() const {
        return negative_;
    }  // how many of its eigenvalues are; by Sylvester's law no G changes it
    double condition() const { return condition_; }

  private:
    Metric() = default;
    Index size_ = 0, negative_ = 0;
    double condition_ = 1;
    std::vector<double> g_, inverse_;
};

}  // namespace attn
