// Maps without the first key, on which many heads lay what they have no use for: the attention sink (Xiao et al. 2023,
// arXiv 2309.17453). It is a map of its own, so that blocks of cells are without it too.
#pragma once

#include "maps/map.hpp"

namespace attn {

// The map with key 0 masked. Where `weights` is given, the weights of the same head, every other cell of a row is divided by
// what key 0 leaves, 1 − A_i0, and is 0 where that leaves nothing.
MapPointer without_first_key(MapPointer map, MapPointer weights = nullptr);

}  // namespace attn
