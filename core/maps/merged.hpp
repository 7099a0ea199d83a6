// Several queries, and several keys, of a map of weights taken as one: the tokens of a word. Attention from a word is the mean
// over its tokens' rows, attention to a word the sum over its tokens' columns (Clark et al. 2019, arXiv 1906.04341, section
// 4.1), so that a row has the sum that rows had.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// Row i is the queries of group i, column j the keys of group j. Groups lie within the map, are not empty, and each begins where
// the one before ends. Masked cells count 0; where all of them are masked so is the one they make.
MapPointer merged_map(MapPointer weights, std::vector<Range> queries, std::vector<Range> keys);

}  // namespace attn
