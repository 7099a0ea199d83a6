// The weight that a mask takes from each query: the sum of the weights that it had on keys that the mask
// hides.
#pragma once

#include <memory>
#include <vector>

#include "maps/map.hpp"

namespace attn {

// In slices. To cancel it, drop it.
class RowLosses {
  public:
    // Takes weights as they are; a masked cell of theirs is 0.
    RowLosses(MapPointer weights, Mask mask, Index head);
    // Takes the weights that a head would have without any mask.
    static Result<RowLosses> without_mask(const Record& record, Mask mask, Index head);

    bool step();  // about 2^17 cells; true while there is more to do
    bool done() const { return next_ >= std::ssize(lost_); }
    const std::vector<double>& lost() const { return lost_; }  // [queries]; NaN until it is computed
    const Map& weights() const { return *weights_; }

  private:
    std::shared_ptr<Record> record_;  // whose rows are measured on the way; null: they are
    MapPointer weights_;
    Mask mask_;
    Index head_ = 0, next_ = 0;
    std::vector<double> lost_;
};

}  // namespace attn
