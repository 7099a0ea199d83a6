// Masks as people write them, taken apart into what they are made of.
#pragma once

#include "analysis/check/attention_case.hpp"
#include "analysis/check/case_reading.hpp"

namespace attn {

struct MaskShape {
    Index batch, heads, queries, keys;
};

// An array as [batch|1, heads|1, n_q|1, n_k]; an error says that it does not fit. `by_key` says that the name
// tells it to be [batch, n_k].
Result<Array4> placed_mask(const CaseArray& array, const MaskShape& shape, bool by_key);

// Adds a mask of 0 and 1 to the case's. What is causal, a window or padding in it is kept as that, so that a
// mistake can change it. `offset` is where the last query would stand on the last key.
void add_painted(CaseMask& mask, Array4 allowed, const MaskShape& shape);

// Says whether a mask that is not boolean holds only 0 and 1, or only 0 and numbers that hide.
bool is_zero_one(const CaseArray& array);
bool hides_by_numbers(const CaseArray& array);

}  // namespace attn
