// The mean of several maps of weights, such as those of all heads of a layer.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// At least one; all have the same shape. A cell that is masked in some maps counts as 0 there; one that is
// masked in all is masked.
MapPointer mean_map(std::vector<MapPointer> maps);

}  // namespace attn
