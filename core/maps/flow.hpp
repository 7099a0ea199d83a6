// A map of weights as edges: for every query, the keys that most of its row falls on. Nothing quadratic is
// kept: a row is cut where its edges make up nearly all of it, or where memory allows no more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maps/map.hpp"

namespace attn {

struct FlowEdge {
    std::uint32_t query = 0, key = 0;
    float weight = 0;
    float before = 0;  // the share of the row's heavier edges, 0 … 1; ties go to the first key
};

// Takes a row's heaviest edges until they make up `mass` of it, or until there are `most`.
struct FlowLimits {
    double mass = 1;
    Index most = std::numeric_limits<Index>::max();
};

// Returns the edges of one query, the lightest first. Cells that are masked, not positive or not finite are
// not edges; the row is the sum of the others.
std::vector<FlowEdge> flow_row(const Map& map, Index query, FlowLimits limits = {});

// The edges that make up `mass` of a row are those whose `before` is below this limit: weights sum
// to 1 only up to rounding.
constexpr float before_limit(float mass) { return mass - 1e-6f; }
// Returns those edges of a row, the lightest first.
std::span<const FlowEdge> making_up(std::span<const FlowEdge> row, float mass);

// A background job that goes over the rows of a map in order. To cancel it, drop it.
class Flow {
  public:
    static constexpr Index most_edges = Index{1} << 18;  // per map, 4 MB
    // A map with no more cells than this is kept whole; in larger ones a row is cut at 0.99 and at its
    // even share of the edges.
    static FlowLimits usual_limits(Index queries, Index keys);

    explicit Flow(MapPointer map);
    Flow(MapPointer map, FlowLimits limits);

    // Before the first step: takes over rows of another flow, of a map whose first `kept` queries are the
    // same and see no later key, as far as its limits leave the same of them.
    void take_over(const Flow& before, Index kept);

    // Processes about 2^16 cells per thread, or one row if that is longer; true while there is more to do.
    // The result does not depend on the number of threads.
    bool step();
    bool done() const { return rows_ == map_->queries(); }
    double progress() const;  // 0 … 1

    const Map& map() const { return *map_; }
    const FlowLimits& limits() const { return limits_; }
    Index queries() const { return rows_; }  // how many are done
    // The edges of the queries that are done, in the order of the queries, each query's lightest first.
    std::span<const FlowEdge> edges() const { return edges_; }
    std::span<const FlowEdge> edges(Range queries) const;
    // Returns the share of a query's row that its edges make up, 0 … 1; it is 1 if there are none.
    float kept(Index query) const { return kept_[static_cast<std::size_t>(query)]; }
    std::size_t bytes() const;  // how many it holds

  private:
    MapPointer map_;
    FlowLimits limits_;
    Index rows_ = 0;  // how many are done
    std::vector<FlowEdge> edges_;
    std::vector<std::size_t> ends_;  // [rows], indices into the edges
    std::vector<float> kept_;        // [rows]
};

}  // namespace attn
