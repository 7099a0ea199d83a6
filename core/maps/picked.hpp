// Some queries and keys of a map, in the order given, as a map of their own: those that two texts have in common.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// Each lies within the map; they may repeat.
MapPointer picked_map(MapPointer map, std::vector<Index> queries, std::vector<Index> keys);

}  // namespace attn
