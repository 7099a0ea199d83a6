// Holds which training runs are wanted, and up to which step: the settings of a network that learns.
#pragma once

#include <cstdint>
#include <optional>

#include "app/command.hpp"
#include "runs/training_plan.hpp"

namespace attn::app {

struct TrainingState {
    TrainingPlan plan;                     // plan of the shown run
    std::optional<TrainingPlan> compared;  // plan of a second run next to it
    std::optional<std::int64_t> step;      // the shown step; none: the newest
    bool running = false;                  // otherwise the runs train up to `step` and no further
    bool operator==(const TrainingState&) const = default;
    // Returns how many steps the runs should take; 0 without a `step` means that there is no run yet.
    std::int64_t target() const { return running ? plan.steps : step.value_or(0); }
    bool wants_a_run() const { return running || step; }
};

inline const TrainingState& training_of(const State& state) { return state.of<TrainingState>(); }

// Shows another run. A run in progress is shown as it grows; a paused one stays at its step, or goes back to
// the step where the two runs part. A new text of the user's own is not trained on until they ask for it.
struct SetTrainingPlan {
    TrainingPlan plan;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Changes the shown run's values from a step on; the original run stays for comparison.
struct ForkTraining {
    std::int64_t step;
    TrainingValues values;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct CompareTraining {
    std::optional<TrainingPlan> plan = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct ShowTrainingStep {
    static constexpr bool navigation = true;
    std::optional<std::int64_t> step = {};  // none: the newest
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct RunTraining {
    static constexpr bool navigation = true;
    bool on;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

}  // namespace attn::app
