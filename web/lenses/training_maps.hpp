// The attention of every head of a network in training, on its probe, or the gradient of the loss by it.
#pragma once

#include <optional>

#include "app/session.hpp"

namespace attn::lenses {

// Draws them at the cursor, `width` points wide. The head whose "leave out", or "take back", was pressed.
std::optional<HeadIndex> training_maps(app::Session& session, const app::TrainingRun& run,
                                       const app::TrainingView& view, float width);

}  // namespace attn::lenses
