#include "analysis/attribution/nearby_rows.hpp"

#include <algorithm>

namespace attn {

Range NearbyRows::around(Index row) const {
    const Index all = trace_->tokens(), count = std::min(all, most_rows),
                first = std::clamp(row + 1 - count, Index{0}, all - count);
    return {first, first + count};
}

const NearbyRows::States* NearbyRows::at(Index row) const {
    const auto found = known_.find(row);
    return found == known_.end() ? nullptr : &found->second;
}

bool NearbyRows::step(Index row) {
    if (decoding_) {
        if (decoding_->step()) return true;
        keep(decoding_->row(), decoding_->states());
        decoding_.reset();
    }
    // Goes left first.
    const Range rows = around(row);
    for (Index away = 1; away < rows.size(); ++away)
        for (const Index each : {row - away, row + away})
            if (rows.holds(each) && !at(each)) {
                decoding_.emplace(trace_, each, slice_operations_);
                return true;
            }
    return false;
}

}  // namespace attn
