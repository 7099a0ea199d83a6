// Says which cells of a map a brush paints.
#pragma once

#include <vector>

#include "widgets/map_view.hpp"

namespace attn::ui {

// The squares of a brush, `side` cells wide and aligned to multiples of that, that a straight stroke passes
// over; their number depends on the stroke's length, not on the map's size.
std::vector<MapWindow> stroke_squares(MapCell from, MapCell to, Index side);

}  // namespace attn::ui
