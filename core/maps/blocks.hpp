// Blocks of a map's cells, with the strongest cell and the mean of each. The strongest is there so that a
// single bright cell survives when the map is zoomed out.
#pragma once

#include <vector>

#include "maps/map.hpp"

namespace attn {

// Blocks [rows, cols], row-major.
struct Blocks {
    Index rows = 0, cols = 0;
    std::vector<float> strongest;  // masked_cell if every cell of the block is masked, NaN if one is
    std::vector<float> sum;        // over the cells that are not masked
    std::vector<float> count;      // how many there are

    Blocks() = default;
    Blocks(Index rows, Index cols);  // marks every cell as masked

    // Returns sum / count, or masked_cell where every cell of the block is masked. With blocks of s × s
    // cells, the error is within 2 s · 2^-24 of the mean magnitude of the block's cells.
    std::vector<float> mean() const;
    // Merges 2 × 2 of these blocks into one.
    Blocks halved(bool is_signed) const;
};

// Sums for each query and each key of the window, over its unmasked cells.
struct MapSums {
    std::vector<double> queries;    // [rows]
    std::vector<double> entropies;  // [rows], −Σ w ln w in nats for weights; 0 for other maps
    std::vector<double> keys;       // [keys]; for weights, the mass that a key receives
    Index not_numbers = 0;          // how many cells are NaN

    MapSums() = default;
    MapSums(Index rows, Index keys);
};

// Masked scores of some queries, [queries, keys of the map], in memory that their cells may take.
struct ScoredRows {
    Range queries;
    MatrixView<float> scores;
};

// Pools a window in slices. To cancel the job, drop it.
class BlockJob {
  public:
    // The blocks have block_rows rows of the window × block_keys keys, counted from the window's upper left
    // corner. The cells of so many rows are made at a time, or of a row of blocks if that is more.
    BlockJob(MapPointer map, MapWindow window, Index block_rows, Index block_keys,
             const Kernels& kernels = default_kernels(), Index chunk_rows = 256);

    // Processes about 2^16 cells per thread, or one block if that is larger; true while there is more to do.
    // The bits of the result do not depend on the number of threads.
    bool step();
    // A step that makes cells of given scores (Map::cells_from_scores), if the next rows are among theirs.
    // The window must have every row, its blocks several cells, and the scores all the rows made at a time.
    bool takes(const ScoredRows& rows) const;
    void take(const ScoredRows& rows);
    bool done() const { return next_ == chunks_.size(); }
    double progress() const;  // 0 … 1

    // These cover the slices done so far.
    const Blocks& blocks() const { return blocks_; }
    const MapSums& sums() const { return sums_; }
    std::size_t bytes() const;  // how many it holds

  private:
    struct Chunk {
        Range rows, keys;  // the window's
        bool may_be_masked;
    };
    struct Slot {  // one thread fills it
        AlignedVector<float> cells;
        MapSums sums;
    };
    void compute_some(const ScoredRows* rows);
    void compute(const Chunk& chunk, const ScoredRows* rows, Slot& slot);
    void add(const Chunk& chunk, const MapSums& sums);

    MapPointer map_;
    const Kernels* kernels_ = nullptr;
    MapWindow window_;
    Index block_rows_ = 1, block_keys_ = 1;
    std::size_t chunks_a_task_ = 1;
    std::vector<Chunk> chunks_;  // the ones that hold something
    std::size_t next_ = 0;
    std::vector<Slot> slots_;
    Blocks blocks_;
    MapSums sums_;
};

}  // namespace attn
