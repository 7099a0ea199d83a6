// The largest weight that a key can have, whatever the change: the maximum of log a_j = m_j − log Σ exp m_k
// over z. Without a soft cap that is concave, and its slope is that of the key against the mean of all, so
// that at a maximum
//   F_j = Σ_{k ≠ j} a_k F_k / (1 − a_j):
// a key has a largest weight exactly if it is such a mixture of the others, that is, if it lies in their
// convex hull. The weights there are the mixture. On the hull's boundary the maximum is only approached, with
// ever longer changes; so a change pays for its length, 1e-10 |z|² / 2, which keeps it to where scores have
// digits left.
#pragma once

#include <memory>
#include <vector>

#include "analysis/linalg/lbfgs.hpp"
#include "analysis/theory/least_change.hpp"

namespace attn {

class BestWeight {
  public:
    BestWeight(const ScoreRow& row, const Lever& lever, Index key);

    bool step();  // O(n_k · size); true while there is more to do
    bool done() const { return done_; }
    double weight() const;
    std::vector<double> mixture() const;  // [n_k], of the other keys; adds up to 1
    // |F_j − Σ mixture_k F_k| over the distance of F_j from the farthest key.
    double off_mixture() const;

  private:
    struct Problem {
        ScoreRow row;
        Lever lever;
        Index key;
        std::vector<double> weights;  // [n_k], at the last change that was looked at
        // Returns −log a_j + 1e-10 |z|² / 2 and writes its slopes.
        double weigh(const std::vector<double>& z, std::vector<double>& slopes);
    };
    std::shared_ptr<Problem> problem_;
    Lbfgs search_;
    Index evaluations_ = 0;
    bool done_ = false;
};

}  // namespace attn
