// Checks, tells and spells changes that add a direction to the residual stream.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "subjects/sentence/changes.hpp"

namespace attn::app {

// The change has a direction.
Status check_direction(const RunChange& change);
// Returns "+ 0.8 × “cat” (embedding), before layer 2, all tokens".
std::string steering_told(const RunChange& change, const Layers& layers, const std::string& token);

// Links spell a direction as "written_412_3_5": its kind, then the token, the head's attention and the head,
// or the place.
std::string write_direction(const SteeringDirection& direction);
std::optional<SteeringDirection> read_direction(std::string_view text);

}  // namespace attn::app
