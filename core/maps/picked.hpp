// Makes a map of some queries and keys of another, in the order given: those that two texts have in common.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// Each must lie within the map; they may repeat.
MapPointer picked_map(MapPointer map, std::vector<Index> queries, std::vector<Index> keys);

}  // namespace attn
