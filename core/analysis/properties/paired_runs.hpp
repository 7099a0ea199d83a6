// Runs of a layer's attention beside a run of it in another way: again, alone, cut short, with another
// future, with poison where the mask forbids, with shifted scores, or in another order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analysis/properties/record_checks.hpp"
#include "analysis/properties/rounding_bounds.hpp"

namespace attn {

// The queries of a text cut short, and how many keys such a text has.
Index half_of(Index queries);
Index keys_with(const Record& record, Index queries);

// The largest number, in magnitude, that is rounded once more where a constant is added to a row's scores.
double largest_shifted(const Record& record, const RowBounds& bounds, double constant);

// `rows` are the queries that are going to be compared. It borrows from the heads.
std::unique_ptr<RowCheck> paired_runs(Property property, const CheckedHeads& heads,
                                      std::span<const Index> rows, const CheckOptions& options);

}  // namespace attn
