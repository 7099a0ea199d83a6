// The map of a head of a run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "maps/map.hpp"
#include "maps/sink.hpp"
#include "model/trace.hpp"

namespace attn {

// Makes the map of a head, and keeps what it takes for that.
using HeadMaps = std::function<MapPointer(Index layer, Index head)>;

// Contributions are weights times ‖v‖ of their key, projected ones times ‖v W_O‖. The sink is a matter of
// these and of weights.
MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, Stage stage, Sink sink);
// Its weights between larger units, as maps/merged.hpp says, without the first unit of the keys where that is
// the sink.
MapPointer merged_map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head,
                         const std::vector<Range>& queries, const std::vector<Range>& keys, Sink sink);
// The same map without its sink; `weights` are those of the head.
MapPointer with_sink(MapPointer map, const MapPointer& weights, Sink sink);

}  // namespace attn
