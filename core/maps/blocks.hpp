// Blocks of a map's cells: of each the strongest cell and the mean. The strongest, so that a single bright cell survives on
// a map that is zoomed out.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// [rows, cols] of blocks, row-major.
struct Blocks {
    Index rows = 0, cols = 0;
    std::vector<float>
        strongest;             // masked_cell where every cell of the block is masked, NaN where one is NaN
    std::vector<float> sum;    // of the cells that are not masked
    std::vector<float> count;  // how many those are

    Blocks() = default;
    Blocks(Index rows, Index cols);  // every cell masked

    // sum / count; masked_cell where every cell of the block is masked. With sides of s cells it is within 2 s · 2^-24 of
    // the mean magnitude of the block's cells.
    std::vector<float> mean() const;
    // Blocks of 2 × 2 of these.
    Blocks halved(bool is_signed) const;
};

// Of each query and each key of the window, over its cells that are not masked.
struct MapSums {
    std::vector<double> queries;    // [rows]
    std::vector<double> entropies;  // [rows], −Σ w ln w in nats of weights; 0 of other maps
    std::vector<double> keys;       // [keys]: of weights the mass that a key receives
    Index not_numbers = 0;          // cells that are NaN

    MapSums() = default;
    MapSums(Index rows, Index keys);
};

// Pools a window in slices. To cancel it, drop it.
class BlockJob {
  public:
    // Blocks of block_rows rows of the window × block_keys keys, from its upper left corner on.
    BlockJob(MapPointer map, MapWindow window, Index block_rows, Index block_keys,
             const Kernels& kernels = default_kernels());

    // For each thread about 2^16 cells, or one block where that is larger; true while there is more to do. The bits of what
    // comes out do not depend on the number of threads.
    bool step();
    bool done() const { return next_ == chunks_.size(); }
    double progress() const;  // 0 … 1

    // Of the slices so far.
    const Blocks& blocks() const { return blocks_; }
    const MapSums& sums() const { return sums_; }
    std::size_t bytes() const;  // that it holds

  private:
    struct Chunk {
        Range rows, keys;  // of the window
        bool may_be_masked;
    };
    struct Slot {  // what a thread fills
        AlignedVector<float> cells;
        MapSums sums;
    };
    void compute(const Chunk& chunk, Slot& slot);
    void add(const Chunk& chunk, const MapSums& sums);

    MapPointer map_;
    const Kernels* kernels_ = nullptr;
    MapWindow window_;
    Index block_rows_ = 1, block_keys_ = 1;
    std::vector<Chunk> chunks_;  // those that hold something
    std::size_t next_ = 0;
    std::vector<Slot> slots_;
    Blocks blocks_;
    MapSums sums_;
};

}  // namespace attn
