// A set of cells of a map of any size, kept as bands of queries that have the same keys, so that a stroke
// over a map of 16,384 queries takes as much as it has corners.
#pragma once

#include <algorithm>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

struct CellBand {
    Range queries;
    std::vector<Range> keys;  // ascending, none empty, none touches the next
    bool operator==(const CellBand&) const = default;
};

// The first range that ends behind an index, of ranges in ascending order.
inline auto from_index(const std::vector<Range>& ranges, Index index) {
    return std::ranges::partition_point(ranges, [&](const Range& each) { return each.end <= index; });
}
// The first band that ends behind a query.
inline auto from_query(const std::vector<CellBand>& bands, Index query) {
    return std::ranges::partition_point(bands,
                                        [&](const CellBand& each) { return each.queries.end <= query; });
}

class CellRegion {
  public:
    void add(Range queries, Range keys) { combine(queries, keys, true); }
    void add(const CellRegion& other) { combine(other, true); }
    void remove(Range queries, Range keys) { combine(queries, keys, false); }
    void remove(const CellRegion& other) { combine(other, false); }
    // Appends a band below all others; false, and nothing changes, where it is not below them or its keys are
    // not ascending.
    bool append(CellBand band);

    bool empty() const { return bands_.empty(); }
    bool contains(Index query, Index key) const;
    // The keys of a query; null: none.
    const std::vector<Range>* keys_of(Index query) const;
    // Ascending; equal regions have equal bands.
    const std::vector<CellBand>& bands() const { return bands_; }
    bool operator==(const CellRegion&) const = default;

  private:
    void combine(Range queries, Range keys, bool add);
    void combine(const CellRegion& other, bool add);

    std::vector<CellBand> bands_;
};

}  // namespace attn
