// Draws the weights of the query in view as bars, under "Where “cat” looks".
#pragma once

#include "parts/part.hpp"
#include "subjects/ladder.hpp"

namespace attn::parts {

// `usual` is the query while none is chosen.
void row_bars(const app::Drawing& drawing, const app::Ladder& ladder, Index usual, Range keys, ImVec2 origin,
              float width);
float bars_height(Index keys);

}  // namespace attn::parts
