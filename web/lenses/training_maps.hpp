// The attention of every head of a network in training, on its probe.
#pragma once

#include <optional>

#include "app/training_run.hpp"

namespace attn::lenses {

// Draws them at the cursor, `width` points wide. The head whose "leave out", or "take back", was pressed.
std::optional<HeadIndex> training_maps(const app::TrainingRun& run, const app::TrainingView& view,
                                       float width);

}  // namespace attn::lenses
