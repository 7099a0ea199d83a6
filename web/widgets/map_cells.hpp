// The cells of a map as they are heard.
#pragma once

#include <memory>
#include <optional>

#include "widgets/map_view.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

inline constexpr Index most_told_cells = 32 * 32;

// This divides because 65,536 tokens have more cells than a 32-bit Index can count.
inline bool can_be_told(Range queries, Range keys) {
    return queries.size() <= most_told_cells / std::max<Index>(keys.size(), 1);
}

// Returns the cells in view or, where these are too many, one: that which has the focus, is pinned or is looked at.
// Their places are left to the caller.
std::shared_ptr<CellGrid> told_cells(const MapPicture& picture, MapTiles& tiles, Range queries, Range keys,
                                     std::optional<MapCell> heard);

}  // namespace attn::ui
