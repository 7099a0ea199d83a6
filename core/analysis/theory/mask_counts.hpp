// What a mask leaves of attention: the cells, the tiles that the fused kernel computes, its multiply-adds.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/mask.hpp"

namespace attn {

struct MaskCounts {
    Index queries = 0, keys = 0;
    std::vector<Index> kept;  // [queries], how many keys each may look at
    std::int64_t kept_cells = 0;
    Index tiles = 0;            // the fused kernel's (kernels/attention_tiles.hpp)
    Index skipped = 0;          // tiles in which nothing is allowed
    std::int64_t computed = 0;  // cells of the tiles that are not skipped

    std::int64_t cells() const { return static_cast<std::int64_t>(queries) * keys; }
    Index rows_without_key() const;
    // A score takes d_k multiply-adds, and its weight takes d_v of them on the value.
    static std::int64_t multiply_adds(std::int64_t cells, Index d_k, Index d_v) {
        return cells * (d_k + d_v);
    }
};

// Counts in slices. To cancel it, drop it.
class MaskCounting {
  public:
    MaskCounting(Mask mask, Index head, Index queries, Index keys);

    bool step();  // about 2^17 cells, or a row of tiles; true while there is more to do
    bool done() const { return next_query_ >= counts_.queries; }
    const MaskCounts& counts() const { return counts_; }  // the rows so far

  private:
    std::int64_t count_tiles(Range queries);  // returns how many cells were looked at one by one

    Mask mask_;
    Index head_, next_query_ = 0;
    MaskCounts counts_;
};

}  // namespace attn
