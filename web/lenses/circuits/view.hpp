// What the drawing of the lens shares.
#pragma once

#include "app/state.hpp"

namespace attn::app::circuits_view {

inline constexpr float least_column = 330, map_height = 560, list_name_width = 130;

inline CellRef own_number(Index row, Index col) { return {.stage = Stage::lens, .row = row, .col = col}; }

}  // namespace attn::app::circuits_view
