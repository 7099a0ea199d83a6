// Merges several queries, and several keys, of a map of weights into one: the tokens of a word. Attention
// from a word is the mean over its tokens' rows, and attention to a word is the sum over its tokens' columns
// (Clark et al. 2019, arXiv 1906.04341, section 4.1), so the sum of a row stays the same.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// Row i merges the queries of group i, column j the keys of group j. Groups must lie within the map, must
// not be empty, and each begins where the one before ends. Masked cells count as 0; if all of them are
// masked, so is the merged cell.
MapPointer merged_map(MapPointer weights, std::vector<Range> queries, std::vector<Range> keys);

}  // namespace attn
