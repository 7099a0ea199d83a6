// The map of a head of a run.
#pragma once

#include <memory>

#include "app/map_choice.hpp"
#include "maps/map.hpp"
#include "model/trace.hpp"

namespace attn::app {

// The stage of a Record that a cell of the map belongs to.
Stage stage_of(MapStage stage);

// Contributions are weights times ‖v‖ of their key, projected ones times ‖v W_O‖.
MapPointer map_of(const std::shared_ptr<const Trace>& trace, Index layer, Index head, MapStage stage);

}  // namespace attn::app
