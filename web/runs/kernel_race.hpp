// Measures how long the fused kernel takes under a mask, compared with no mask.
#pragma once

#include "attention/mask.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

// Both sides compute the same seeded normal vectors of one head on one thread, one strip of queries at a
// time, in turn.
class KernelRace {
  public:
    // The mask is this head's.
    KernelRace(Mask mask, Index head, Index queries, Index keys, Index d_k, Index d_v);

    bool step();  // a strip on both sides; true while there is more to do
    bool done() const { return done_; }
    // Sums over all passes so far.
    double masked_ms() const { return masked_ms_; }
    double whole_ms() const { return whole_ms_; }
    double ratio() const { return masked_ms_ / whole_ms_; }
    int passes() const { return passes_; }

  private:
    double time(const CellRule& rule, Range queries);

    Mask mask_;
    Index head_;
    Tensor q_, k_, v_, output_, row_max_, row_log_sum_;
    Index next_query_ = 0;
    int passes_ = 0;
    double masked_ms_ = 0, whole_ms_ = 0;
    bool done_ = false;
};

}  // namespace attn::app
