// Stores a map like a street map: on level 0 a texel is a cell, on level l a block of 2^l × 2^l cells. The
// texels of a level are divided into square tiles; 2 × 2 tiles of a level make one of the next.
//
// A pyramid keeps the coarse levels, from the finest that fits into its memory up to the one that is a
// single tile, and makes them in one pass over the map. Tiles of finer levels are made one by one when they
// are looked at: `tile_job`.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "maps/blocks.hpp"

namespace attn {

inline constexpr Index tile_side = 256;  // texels

struct TileAt {
    Index level = 0;
    Index row = 0, col = 0;  // in tiles
    auto operator<=>(const TileAt&) const = default;
};

// How many texels n cells in a row or column make.
constexpr Index texels(Index n, Index level) { return n == 0 ? 0 : ((n - 1) >> level) + 1; }
// The cells, out of n, that a tile covers in one direction.
constexpr Range tile_cells(Index n, Index level, Index tile) {
    const Index side = tile_side << level, end = (tile + 1) * side;
    return {tile * side, end < n ? end : n};
}
// Returns the finest level on which a map has at most `side` texels in either direction.
Index level_of(Index queries, Index keys, Index side);

// Makes one tile of any level as a job of its own, whose blocks are the texels.
BlockJob tile_job(MapPointer map, TileAt at, const Kernels& kernels = default_kernels(),
                  Index chunk_rows = tile_side);

// Some rows of the map, each exactly as it is, for the first picture. The rows in between are missing, so
// this is not a picture of maxima, and its texels must not be shown as such.
struct SampledRows {
    Index first = 0, step = 1;     // row r is query first + r · step
    Index level = 0;               // a texel is 2^level keys of that query
    Index rows = 0, cols = 0;      // texels
    std::vector<float> strongest;  // [rows, cols], masked_cell if all are masked
    std::vector<float> mean;
};
// If the map had at most `side` texels a side, this is one row from each row of texels, including the map's
// last: so the rows for a smaller side are among those for a larger one.
MapWindow sample_window(Index queries, Index keys, Index side);
BlockJob sample_job(MapPointer map, Index side, const Kernels& kernels = default_kernels());
SampledRows sample_of(const Map& map, Index side, const Blocks& blocks);

struct Tile {
    Index rows = 0, cols = 0;      // texels; fewer than tile_side at the map's edges
    std::vector<float> strongest;  // [rows, cols]; empty: only masked cells so far
    std::vector<float> mean;

    // A tile is filled in squares of this many texels, one for each tile of the pyramid's finest level. The
    // texels of a square that is not ready are meaningless.
    Index square = tile_side;
    std::vector<std::uint8_t> ready;  // [⌈rows / square⌉, ⌈cols / square⌉]
    std::uint64_t version = 0;        // grows with every square that is filled

    bool ready_at(Index row, Index col) const;  // texel
    bool complete() const;
};

// A background job. To cancel it, drop it. The bits of its results depend neither on the number of threads
// nor on what is looked at.
class Pyramid {
  public:
    static constexpr std::size_t usual_bytes = std::size_t{48} << 20;

    explicit Pyramid(MapPointer map, std::size_t bytes = usual_bytes,
                     const Kernels& kernels = default_kernels());

    const Map& map() const { return *map_; }
    Index finest() const { return finest_; }
    Index coarsest() const { return finest_ + static_cast<Index>(levels_.size()) - 1; }

    // Before the first step: takes over the tiles of another map whose first `kept` queries are the same, and
    // see no later key, as in a text with another end.
    void take_over(const Pyramid& before, Index kept);
    // Whether the tiles that are missing take no longer than a slice of a frame.
    bool nearly_done() const;

    // The tiles in view are made next, then the tiles around them.
    void look_at(Range queries, Range keys);

    bool step();  // like BlockJob's; true while there is more to do
    bool done() const { return !sampling_ && jobs_.empty() && pending_.empty(); }
    double progress() const;  // 0 … 1, in tiles

    // Tiles may also be made while the record of a map is measured, from the scores of `band_rows` rows at a
    // time, in their order and from the first row of some tiles on. Each call does a slice; true while there
    // is more to do in these rows. The bits are those of `step`, except that sums over keys are added in
    // another order. Meanwhile `step` may make the sampled rows, and afterwards what was left out.
    bool takes_scores() const { return map_->scored_record() && finest_ > 0; }
    bool take(const ScoredRows& rows);
    Index band_rows() const;  // or what is left at the end of the map
    Index rows_of_tile() const { return tile_side << finest_; }

    // The rows that are sampled before everything else. This is null until they are there, and for a map
    // whose cells fit into one tile.
    const SampledRows* sample() const { return sample_ ? &*sample_ : nullptr; }
    // Returns a tile of one of the levels finest … coarsest.
    const Tile& tile(TileAt at) const;
    Index tile_rows(Index level) const;
    Index tile_cols(Index level) const;

    // These cover the tiles made so far, and the whole map once it is done.
    MapSums sums() const;
    std::size_t bytes() const;  // how many it holds

  private:
    struct Level {
        Index tile_rows = 0, tile_cols = 0;
        std::vector<Tile> tiles;
    };
    const Level& level(Index l) const { return levels_[static_cast<std::size_t>(l - finest_)]; }
    TileAt take_next();  // among the pending ones
    struct TileJob {
        TileAt at;
        BlockJob job;
    };
    void finish_tile(const TileJob& done);
    struct Square {  // the part of a tile that begins at this texel
        Tile& tile;
        Index row, col;
    };
    Square make_ready(TileAt at, Index level);
    static void put(const Blocks& blocks, Square to);
    void take_over_tile(const Pyramid& before, TileAt at);

    MapPointer map_;
    const Kernels* kernels_;
    Index finest_ = 0;
    std::vector<Level> levels_;    // the finest first
    std::vector<TileAt> pending_;  // on the finest level
    std::size_t tiles_ = 0;        // how many were pending at first
    Range queries_, keys_;         // in view
    std::optional<BlockJob> sampling_;
    std::vector<TileJob> jobs_;  // a tile, or a row of tiles that scores are given for
    std::optional<SampledRows> sample_;
    // These are kept per row or column of tiles that they come from, so that the order in which tiles
    // are made does not matter.
    std::vector<std::vector<double>> key_sums_, query_sums_, entropies_;
    Index not_numbers_ = 0;
};

}  // namespace attn
