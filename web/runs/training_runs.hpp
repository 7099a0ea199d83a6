// Keeps the runs that are wanted, and a few that were wanted before, as far as memory allows. A run is made
// when it is first wanted, forked from the run that shares most of its beginning.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "runs/training_run.hpp"
#include "runs/training_state.hpp"

namespace attn::app {

// Hands a network over from its run to the subject that reads the user's own text. It takes the way through
// the page, which opens its files like those of any model.
struct Handover {
    TrainedHere network;
    std::string text;  // the run's probe
    HeadIndex head;    // shown first
};

class TrainingRuns {
  public:
    // Above this many bytes, only wanted runs stay.
    explicit TrainingRuns(std::int64_t most_bytes = 80'000'000) : most_bytes_(most_bytes) {}

    std::optional<Handover> handover;
    // While a network is prepared for a handover, the wanted runs pause.
    bool rests = false;

    // Works on what is wanted for about `budget_ms`; true while there is more to do.
    bool work(const TrainingState& state, double budget_ms);
    // Returns what went wrong since the last call: an invalid plan, or a run that failed.
    std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

    // Works instead towards a network that a link or undo needs; false once prepared() has it or has failed.
    bool prepare(const TrainedHere& network, double budget_ms);
    // Returns the run that has reached the network or is on its way; null before prepare(), and if its plan
    // is invalid.
    const TrainingRun* prepared() const { return prepared_.get(); }

    std::int64_t bytes() const;  // memory of all kept runs

    const std::optional<TrainingPlan>& wanted_plan() const { return shown_.plan; }
    // Null until work() has made them, and if none is wanted.
    const TrainingRun* shown() const { return shown_.run.get(); }
    const TrainingRun* compared() const { return compared_.run.get(); }
    // Returns the view at the shown step, recomputed if the step or the run has changed; null if there is no
    // run.
    const TrainingView* shown_view(const TrainingState& state) { return view(shown_, state); }
    const TrainingView* compared_view(const TrainingState& state) { return view(compared_, state); }

  private:
    using Run = std::shared_ptr<TrainingRun>;
    struct Place {
        std::optional<TrainingPlan> plan;  // the requested plan
        Run run;                           // null if the plan is invalid
        std::optional<TrainingView> view;
    };
    static constexpr std::size_t kept_limit = 4;

    void fill(Place& place, const TrainingPlan* plan);
    void let_go();
    Result<Run> run_of(const TrainingPlan& plan);
    Result<Run> run_to(const TrainedHere& network);
    const TrainingView* view(Place& place, const TrainingState& state);

    std::int64_t most_bytes_;
    std::deque<Run> runs_;  // most recently wanted first
    Place shown_, compared_;
    std::optional<TrainedHere> prepared_for_;
    Run prepared_;
    std::optional<Error> error_;
};

}  // namespace attn::app
