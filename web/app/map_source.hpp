// The map of a head of a run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/map_choice.hpp"
#include "maps/map.hpp"
#include "model/trace.hpp"

namespace attn::app {

// Makes the map of a head, and keeps what it takes for that.
using HeadMaps = std::function<MapPointer(Index layer, Index head)>;

// The stage of a Record that a cell of the map belongs to.
Stage stage_of(MapStage stage);

// Contributions are weights times ‖v‖ of their key, projected ones times ‖v W_O‖. The sink is a matter of these and of
// weights.
MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, MapStage stage,
                  Sink sink);
// Its weights between words, as maps/merged.hpp says, without their first word where that is the sink.
MapPointer word_map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head,
                       const std::vector<Range>& words, Sink sink);
// The same map without its sink; `weights` are those of the head.
MapPointer with_sink(MapPointer map, const MapPointer& weights, Sink sink);

}  // namespace attn::app
