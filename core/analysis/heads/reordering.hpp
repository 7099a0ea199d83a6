// What one head makes of tokens in another order under a scheme of positions, and of the same with all
// positions shifted.
#pragma once

#include <optional>
#include <span>

#include "analysis/heads/unplaced_rows.hpp"

namespace attn {

struct Reordering {
    PlacedRun before, after;
    CarriedError carried;
    std::optional<PlacedRun> shifted{};   // none: the scheme lacks such a position
    std::optional<ScoreChange> change{};  // caused by the shift
    // The outputs moved with their tokens, but for rounding.
    bool along() const { return carried.most_f32() <= reorder_rounding(after); }
};
// The orders name the token at each place, and are the same if the queries are also the keys. Returns nothing
// if the scheme lacks these positions.
std::optional<Reordering> reordering(const UnplacedRows& rows, const PositionRule& rule,
                                     std::span<const Index> queries, std::span<const Index> keys, Index shift,
                                     bool masked);

}  // namespace attn
