// The flows of the heads that a lens shows, made in slices and kept while there is room.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attention/head_index.hpp"
#include "maps/flow.hpp"

namespace attn {

inline constexpr std::size_t flow_heads_limit = 8;  // shown at once, the chosen one among them

// Edges that are drawn together; other edges have another serial number, but a flow that grows keeps its own.
struct EdgeList {
    std::uint64_t serial = 0;
    std::vector<FlowEdge> edges;
};

class HeadFlow {
  public:
    HeadFlow(HeadIndex head, MapPointer map);
    HeadFlow(const HeadFlow& before, MapPointer map, Index kept);  // Flow::take_over

    HeadIndex head() const { return head_; }
    const Flow& flow() const { return flow_; }
    std::uint64_t serial() const { return serial_; }
    // All edges of a query, whether the flow has come to it or not.
    const EdgeList& from(Index query);
    // The edges into a key that the flow has so far.
    const EdgeList& into(Index key);

  private:
    friend class Flows;
    HeadIndex head_;
    Flow flow_;
    std::uint64_t serial_, wanted_ = 0;
    EdgeList from_, into_;
    Index from_query_ = -1, into_key_ = -1, into_queries_ = 0;
};

class Flows {
  public:
    // Call it at the start of a frame with the heads to show, at most flow_heads_limit, the first one before
    // the others. Another source, a run or tensors, starts anew, but for its first `kept` queries
    // (Flow::take_over). Flows up to the limit are kept, shown or not, each within Flow's bound.
    void show(std::uint64_t source, std::span<const HeadIndex> heads,
              const std::function<MapPointer(HeadIndex)>& weights, Index kept = 0);
    std::uint64_t source() const { return source_; }
    // One of those that are shown.
    HeadFlow& of(HeadIndex head);

    bool step();              // a slice; true while there is more to do
    double progress() const;  // 0 … 1, of those that are shown

  private:
    std::uint64_t source_ = 0;
    std::vector<HeadIndex> shown_;
    std::vector<std::unique_ptr<HeadFlow>> flows_;
    std::uint64_t frame_ = 0;
};

}  // namespace attn
