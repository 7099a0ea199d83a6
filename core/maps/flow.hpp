// A map of weights as edges: of every query the keys that most of its row lies on. Nothing quadratic is kept: a row is cut
// where its edges make up nearly all of it, or where there are as many as memory allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maps/map.hpp"

namespace attn {

struct FlowEdge {
    std::uint32_t query = 0, key = 0;
    float weight = 0;
    float before =
        0;  // what the row's heavier edges make up of it, 0 … 1; of two alike the first key is the heavier
};

// Of a row the heaviest edges, until they make up `mass` of it or are `most`.
struct FlowLimits {
    double mass = 1;
    Index most = std::numeric_limits<Index>::max();
};

// The edges of one query, the lightest first. Cells that are masked, not above 0 or not finite are none; the others' sum
// is the row.
std::vector<FlowEdge> flow_row(const Map& map, Index query, FlowLimits limits = {});

// The edges that make up `mass` of a row are those with less before them than this: weights sum to 1 but for rounding.
constexpr float before_limit(float mass) { return mass - 1e-6f; }
// Those of a row, the lightest first.
std::span<const FlowEdge> making_up(std::span<const FlowEdge> row, float mass);

// A background job over the rows of a map, from the first on. To cancel it, drop it.
class Flow {
  public:
    static constexpr Index most_edges = Index{1} << 18;  // of a map, 4 MB
    // A map of so few cells is kept whole; of others a row is cut at 0.99 and at its even share of the edges.
    static FlowLimits usual_limits(Index queries, Index keys);

    explicit Flow(MapPointer map);
    Flow(MapPointer map, FlowLimits limits);

    // For each thread about 2^16 cells, or one row where that is longer; true while there is more to do. What comes out does
    // not depend on the number of threads.
    bool step();
    bool done() const { return rows_ == map_->queries(); }
    double progress() const;  // 0 … 1

    const Map& map() const { return *map_; }
    const FlowLimits& limits() const { return limits_; }
    Index queries() const { return rows_; }  // that are done
    // Of the queries that are done, by query, of each the lightest first.
    std::span<const FlowEdge> edges() const { return edges_; }
    std::span<const FlowEdge> edges(Range queries) const;
    // What the edges of a query make up of its row, 0 … 1; 1 of a row without any.
    float kept(Index query) const { return kept_[static_cast<std::size_t>(query)]; }
    std::size_t bytes() const;  // that it holds

  private:
    MapPointer map_;
    FlowLimits limits_;
    Index rows_ = 0;  // that are done
    std::vector<FlowEdge> edges_;
    std::vector<std::size_t> ends_;  // [rows], in the edges
    std::vector<float> kept_;        // [rows]
};

}  // namespace attn
