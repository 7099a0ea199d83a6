// How small d_k may be for attention to have a pattern: Q and K, [n, d_k], whose weights softmax(Q Kᵀ / √d_k)
// come near to a target, found by making the cross-entropy −Σ t log a small.
//
// The rows of log a are those of Q Kᵀ / √d_k, of rank d_k at most, but for one number each. So a target
// without zeros can be had exactly only if its log has rank d_k + 1 at most: the softmax bottleneck (Yang et
// al. 2018, arXiv 1711.03953, corollary 1). One with zeros is only approached, with ever larger scores, and
// for its strongest keys alone it is a matter of signs of scores: of their sign rank, which may be far lower.
//
// For each d_k there are several starts: normal numbers of a seed, and what was found for d_k − 1 with one
// more component. What is found is an upper bound: a better fit may exist.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/linalg/lbfgs.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct FittedPattern {
    Index d_k = 0;
    std::vector<double> q, k;     // [n, d_k]
    std::vector<double> weights;  // [n, n]
    double largest_error = 0;     // |a − t|
    double divergence = 0;        // mean over the rows of Σ t log (t / a), in nats
    Index rows_right = 0;         // whose strongest key is one of the target's strongest
};

class PatternFit {
  public:
    // target [n, n]: rows of weights, or of zeros, which ask for nothing. Tries d_k = 1 … n.
    PatternFit(std::vector<double> target, Index n, std::uint64_t seed);

    bool step();  // evaluates one pattern; true while there is more to do
    bool done() const { return next_d_ > n_; }
    double progress() const;  // 0 … 1
    Index n() const { return n_; }
    Index rows() const { return rows_; }  // rows with a target
    const std::vector<double>& target() const { return target_; }
    const std::vector<FittedPattern>& found() const { return found_; }  // for d_k = 1, 2, … so far

    static constexpr Index starts = 20;
    static constexpr double near = 1e-3;  // an error of a weight at which a start ends

  private:
    void begin();
    FittedPattern pattern_of(const std::vector<double>& x) const;

    std::vector<double> target_;
    Index n_, rows_ = 0;
    std::uint64_t seed_;
    Index next_d_ = 1, start_ = 0, evaluations_ = 0;
    std::optional<Lbfgs> search_;
    std::optional<FittedPattern> best_;  // for next_d_
    std::vector<FittedPattern> found_;
};

}  // namespace attn
