// How fused attention goes over the cells of a head in tiles, and what that saves: for each tile of queries,
// all tiles of keys, without those in which the mask forbids every cell (Dao 2023, arXiv 2307.08691, section
// 3.1).
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "attention/record.hpp"

namespace attn {

// Tiles are counted row by row: first those of the first queries. The last ones are cut off at the edges.
struct TileGrid {
    Index queries = 0, keys = 0;  // cells
    TileSize size;

    Index rows() const { return (queries + size.queries - 1) / size.queries; }
    Index cols() const { return (keys + size.keys - 1) / size.keys; }
    Index count() const { return rows() * cols(); }
    Index row(Index tile) const { return tile / cols(); }
    Index col(Index tile) const { return tile % cols(); }
    Index tile_of(Index query, Index key) const { return query / size.queries * cols() + key / size.keys; }
    Range queries_of(Index row) const {
        return {row * size.queries, std::min((row + 1) * size.queries, queries)};
    }
    Range keys_of(Index col) const { return {col * size.keys, std::min((col + 1) * size.keys, keys)}; }
    bool operator==(const TileGrid&) const = default;
};

// Returns a grid of tiles of that size, or of larger ones, doubled in turn, if there would be more than
// `most`.
TileGrid tile_grid(Index queries, Index keys, TileSize size, Index most);

// What is moved between slow and fast memory, in bytes of f32, and computed, for one head.
struct TileCost {
    double read = 0, written = 0;
    double products = 0;  // multiplications, each with its addition
    double moved() const { return read + written; }
};

// One stage after the other, each of them wholly in slow memory (Dao et al. 2022, arXiv 2205.14135, Algorithm
// 0), with d = d_k:
//   read 4 (n_q d + n_k d + 2 n_q n_k + n_k d_v): Q and K, the scores, the weights with V
//   written 4 (2 n_q n_k + n_q d_v): the scores, the weights, the output
//   products n_q n_k (d + d_v)
TileCost naive_cost(const Record& record);

// Returns tiles of two keys and of the smallest number of queries, doubled from two while it is below `most`,
// that moves fewer bytes than naive attention. With R rows of tiles that is (R − 1) (d_k + d_v) < 4 n_q: see
// naive_cost and TileCover::cost, without skipped tiles.
TileSize usual_tile_size(const Record& record, Index most);

// The bytes of fast memory that a tile takes, with B_q queries and B_k keys:
//   4 (B_q (d + d_v + 2) + B_k (d + d_v) + B_q B_k): Q, output, maximum and sum; K and V; the scores
double fast_memory(const Record& record, TileSize size);

// Finds out, in slices, which tiles are skipped.
class TileCover {
  public:
    TileCover(std::shared_ptr<const Record> record, Index head, const TileGrid& grid);

    bool step();  // about a millisecond; true while there is more to do
    bool done() const { return next_ == grid_.count(); }
    const TileGrid& grid() const { return grid_; }
    // Not until it is known.
    bool skipped(Index tile) const { return tile < next_ && keys_[at(tile)] == keys_[at(tile + 1)]; }
    Index skipped_tiles() const { return skipped_; }

    // The next tile in this direction, 1 or −1, that is not skipped; the same one if there is none.
    Index neighbour(Index tile, Index direction) const;
    // The cost of the first tiles, as many as are done. Queries are read when their first tile begins, and
    // their output is written when their last one is done; keys and values are read for each tile:
    //   read 4 (n_q d + Σ over tiles that are not skipped of their keys · (d + d_v)), written 4 n_q d_v
    TileCost cost(Index tiles) const;

  private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
    bool sees_nothing(Range queries, Range keys);

    std::shared_ptr<const Record> record_;
    Index head_;
    TileGrid grid_;
    Index next_ = 0, skipped_ = 0;
    Index examined_ = 0;  // cells, in this slice
    // [tiles + 1], of all tiles before that are not skipped; a long text has more cells than a 32-bit Index
    // can count
    std::vector<Index> keys_;
    std::vector<double> cells_;
    std::vector<std::uint8_t> allowed_;
};

}  // namespace attn
