// Explains the numbers of the runs with a mistake.
#pragma once

#include <functional>
#include <optional>

#include "app/explained.hpp"
#include "runs/mistaken_training.hpp"

namespace attn::app {

// Each writes all but the run's name in the title. The loss of a step's batch; step < run.steps_taken().
Explained explain_loss(const MistakenTraining& run, std::int64_t step);
// Nothing: not known yet. `place` says where a number of this run and of the right one stands.
std::optional<Explained> explain_learned(const MistakenTrainings& all, const MistakenTraining& run,
                                         Learned number,
                                         const std::function<CellPlace(bool of_right, Learned)>& place);

}  // namespace attn::app
