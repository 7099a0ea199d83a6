// Masks the first key of a map, on which many heads park unused attention: the attention sink (Xiao et al.
// 2023, arXiv 2309.17453). The result is a map of its own, so that blocks of cells leave it out too.
#pragma once

#include "maps/map.hpp"

namespace attn {

// Whether the first key is shown, left out, or left out with the other cells of a row made to sum to one
// again. Applies to weights and contributions.
enum class Sink { shown, hidden, renormalised };

// Returns the map with key 0 masked. If `weights` is given, the weights of the same head, every other cell of
// a row is divided by what key 0 leaves, 1 − A_i0, and is 0 if that leaves nothing.
MapPointer without_first_key(MapPointer map, MapPointer weights = nullptr);

}  // namespace attn
