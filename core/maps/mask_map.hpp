// A mask as a map: 1 where a query may look at a key, 0 where it may not, so that a block's mean is the share
// that is allowed.
#pragma once

#include "maps/map.hpp"

namespace attn {

MapPointer mask_map(Mask mask, Index head, Index queries, Index keys);

}  // namespace attn
