// Describes the cells of a map to screen readers.
#pragma once

#include <memory>
#include <optional>

#include "widgets/map_view.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

inline constexpr Index most_told_cells = 32 * 32;

// Divides, because 65,536 tokens have more cells than a 32-bit Index can count.
inline bool can_be_told(Range queries, Range keys) {
    return queries.size() <= most_told_cells / std::max<Index>(keys.size(), 1);
}

// Returns the cells in view or, if these are too many, a single cell: the focused, pinned or hovered one. The
// caller fills in their positions.
std::shared_ptr<CellGrid> told_cells(const MapPicture& picture, MapTiles& tiles, Range queries, Range keys,
                                     std::optional<MapCell> heard);

}  // namespace attn::ui
