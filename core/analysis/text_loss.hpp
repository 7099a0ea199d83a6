// How badly a model predicts a text that it reads: the mean of −ln p over its tokens, in nats.
#pragma once

#include <memory>
#include <vector>

#include "model/trace.hpp"

namespace attn {

// Computed in slices. In a causal model, p is what a row of logits gives the token that comes next, so that
// the last row says nothing; in one that looks both ways, what it gives the token that stands there, which it
// sees.
class TextLoss {
  public:
    explicit TextLoss(std::shared_ptr<const Trace> trace, double slice_operations = 60e6);

    bool step();  // a part of the vocabulary for some rows; true while there is more to do
    bool done() const { return std::ssize(losses_) == rows_; }
    Index rows() const { return rows_; }  // rows that predict a token
    double progress() const;
    const std::vector<double>& losses() const { return losses_; }  // −ln p of each, of those that are done
    double value() const;  // the mean, once done; NaN where there are none

  private:
    struct Sum {
        double most = 0, sum = 0, own = 0;  // Σ exp(logit − most); own is the token's logit
    };
    std::int32_t token(Index row) const;

    std::shared_ptr<const Trace> trace_;
    Index rows_, at_once_, part_, next_ = 0;  // next_ is a token of the vocabulary
    std::vector<Sum> sums_;                   // sums over the rows at work
    std::vector<double> losses_;
};

}  // namespace attn
