// The runs that a State names, and a few that it named before: made when first wanted, forked from those that share
// their beginning.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "app/state.hpp"
#include "app/training_run.hpp"

namespace attn::app {

class TrainingRuns {
  public:
    // Works on what the state asks for, for about `budget_ms`; true while there is more to do.
    bool work(const TrainingState& state, double budget_ms);
    // What went wrong since this was last asked: a plan that cannot be run, a run that came to a bad end.
    std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

    // Works instead towards a network that a link or a step back asks for; false once prepared() has it or failed.
    bool prepare(const TrainedHere& network, double budget_ms);
    // The run that has the network or comes to it; null before prepare(), and where its plan cannot be run.
    const TrainingRun* prepared() const { return prepared_.get(); }

    // Null until work() has made them, and where the state names none.
    const TrainingRun* shown() const { return shown_.run.get(); }
    const TrainingRun* compared() const { return compared_.run.get(); }
    // At the state's step, computed where that or the run has changed; null where there is no run.
    const TrainingView* shown_view(const TrainingState& state) { return view(shown_, state); }
    const TrainingView* compared_view(const TrainingState& state) { return view(compared_, state); }

  private:
    using Run = std::shared_ptr<TrainingRun>;
    struct Place {
        std::optional<TrainingPlan> plan;  // that was asked for
        Run run;                           // null where it cannot be run
        std::optional<TrainingView> view;
    };
    static constexpr std::size_t kept_limit = 4;

    void fill(Place& place, const TrainingPlan* plan);
    Result<Run> run_of(const TrainingPlan& plan);
    Result<Run> run_to(const TrainedHere& network);
    const TrainingView* view(Place& place, const TrainingState& state);

    std::deque<Run> runs_;  // the latest wanted first
    Place shown_, compared_;
    std::optional<TrainedHere> prepared_for_;
    Run prepared_;
    std::optional<Error> error_;
};

}  // namespace attn::app
