// A grid of tiles as a picture shows it, at a moment of the walk through them: as blocks, each of which is a
// tile, or several of a larger grid.
#pragma once

#include <utility>

#include "analysis/theory/attention_tiles.hpp"

namespace attn {

enum class TileFate { skipped, ahead, now, done };

class TileBlocks {
  public:
    // Has at most so many blocks per side. `now` is the current tile.
    TileBlocks(const TileCover& cover, Index now, Index most_a_side);

    const TileGrid& grid() const { return cover_->grid(); }
    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    bool of_tiles() const { return rows_ == grid().rows() && cols_ == grid().cols(); }
    Range tile_rows(Index row) const {
        return {row * grid().rows() / rows_, (row + 1) * grid().rows() / rows_};
    }
    Range tile_cols(Index col) const {
        return {col * grid().cols() / cols_, (col + 1) * grid().cols() / cols_};
    }
    Index first_tile(Index row, Index col) const {
        return tile_rows(row).begin * grid().cols() + tile_cols(col).begin;
    }
    std::pair<Index, Index> now() const;       // row and column of the block with the current tile
    bool skipped(Index row, Index col) const;  // all of its tiles are
    TileFate fate(Index row, Index col) const;

  private:
    const TileCover* cover_;
    Index now_, rows_, cols_;
};

}  // namespace attn
