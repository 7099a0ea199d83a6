#include "analysis/theory/tile_blocks.hpp"

namespace attn {

TileBlocks::TileBlocks(const TileCover& cover, Index now, Index most_a_side)
    : cover_(&cover),
      now_(now),
      rows_(std::min(cover.grid().rows(), most_a_side)),
      cols_(std::min(cover.grid().cols(), most_a_side)) {}

std::pair<Index, Index> TileBlocks::now() const {
    Index row = 0, col = 0;
    while (tile_rows(row).end <= grid().row(now_)) ++row;
    while (tile_cols(col).end <= grid().col(now_)) ++col;
    return {row, col};
}

bool TileBlocks::skipped(Index row, Index col) const {
    const Range rows = tile_rows(row), cols = tile_cols(col);
    for (Index r = rows.begin; r < rows.end; ++r)
        for (Index c = cols.begin; c < cols.end; ++c)
            if (!cover_->skipped(r * grid().cols() + c)) return false;
    return true;
}

TileFate TileBlocks::fate(Index row, Index col) const {
    const Range rows = tile_rows(row), cols = tile_cols(col);
    const bool in_row = rows.holds(grid().row(now_));
    if (in_row && cols.holds(grid().col(now_))) return TileFate::now;
    if (skipped(row, col)) return TileFate::skipped;
    return rows.end <= grid().row(now_) || (in_row && cols.end <= grid().col(now_)) ? TileFate::done
                                                                                    : TileFate::ahead;
}

}  // namespace attn
