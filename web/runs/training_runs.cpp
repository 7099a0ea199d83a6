#include "runs/training_runs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace attn::app {

bool TrainingRuns::work(const TrainingState& state, double budget_ms) {
    if (rests) return false;
    prepared_for_.reset();
    prepared_.reset();
    const bool wanted = state.wants_a_run();
    fill(shown_, wanted ? &state.plan : nullptr);
    fill(compared_, wanted && state.compared ? &*state.compared : nullptr);
    std::array runs{shown_.run.get(), compared_.run.get()};
    // The run that is behind continues first, so that both grow together.
    if (runs[0] && runs[1] && runs[1]->steps_taken() < runs[0]->steps_taken()) std::swap(runs[0], runs[1]);
    for (TrainingRun* run : runs) {
        if (!run || run->failure()) continue;
        const bool more = run->advance(state.target(), budget_ms);
        if (run->failure()) error_ = run->failure();
        if (more) return true;
    }
    let_go();
    return false;
}

std::int64_t TrainingRuns::bytes() const {
    std::set<const void*> counted;
    std::int64_t bytes = 0;
    for (const Run& run : runs_) bytes += run->bytes(counted);
    return bytes;
}

// Drops unwanted runs, the least trained first. A slider being dragged requests many runs that are never
// trained, and they must not displace a finished one, to which undo leads back.
void TrainingRuns::let_go() {
    const auto is_wanted = [&](const Run& run) {
        return run == shown_.run || run == compared_.run || run == prepared_;
    };
    while (runs_.size() > kept_limit || bytes() > most_bytes_) {
        // Wanted runs count more than any other. Among equal ones, the run that was wanted longest ago goes.
        const auto least = std::min_element(runs_.rbegin(), runs_.rend(), [&](const Run& a, const Run& b) {
            return std::pair(is_wanted(a), a->steps_taken()) < std::pair(is_wanted(b), b->steps_taken());
        });
        if (least == runs_.rend() || is_wanted(*least)) return;
        runs_.erase(std::next(least).base());
    }
}

bool TrainingRuns::prepare(const TrainedHere& network, double budget_ms) {
    if (prepared_for_ != network) {
        prepared_for_ = network;
        prepared_.reset();
        if (Result<Run> run = run_to(network))
            prepared_ = *std::move(run);
        else
            error_ = run.error();
        let_go();
    }
    if (!prepared_ || prepared_->shown_step(network.step) == network.step) return false;
    prepared_->advance(network.step, budget_ms);
    return !prepared_->failure();
}

// A step that a longer run no longer keeps is trained again, from the checkpoint before it.
Result<TrainingRuns::Run> TrainingRuns::run_to(const TrainedHere& network) {
    Result<Run> run = run_of(network.plan);
    if (!run || (*run)->steps_taken() <= network.step || (*run)->shown_step(network.step) == network.step)
        return run;
    Result<TrainingRun> again = TrainingRun::fork(**run, network.plan, network.step);
    if (!again) return again.error();
    return std::make_shared<TrainingRun>(*std::move(again));
}

void TrainingRuns::fill(Place& place, const TrainingPlan* plan) {
    if (!plan) {
        place = {};
        return;
    }
    if (place.plan == *plan) return;
    place = {.plan = *plan, .run = {}, .view = {}};
    if (Result<Run> run = run_of(*plan))
        place.run = *std::move(run);
    else
        error_ = run.error();
    let_go();
}

Result<TrainingRuns::Run> TrainingRuns::run_of(const TrainingPlan& plan) {
    auto kept =
        std::ranges::find(runs_, plan, [](const Run& run) -> const TrainingPlan& { return run->plan(); });
    Run run;
    if (kept != runs_.end()) {
        run = *kept;
        runs_.erase(kept);
    } else {
        // The new run is forked from the kept run that shares most with it.
        const auto common = [&](const Run& each) {
            return std::min(common_steps(each->plan(), plan), each->steps_taken());
        };
        const auto nearest = std::ranges::max_element(runs_, {}, common);
        Result<TrainingRun> made =
            nearest == runs_.end() ? TrainingRun::start(plan) : TrainingRun::fork(**nearest, plan);
        if (!made) return made.error();
        run = std::make_shared<TrainingRun>(*std::move(made));
    }
    runs_.push_front(run);
    return run;
}

const TrainingView* TrainingRuns::view(Place& place, const TrainingState& state) {
    if (!place.run) return nullptr;
    const std::int64_t step =
        place.run->shown_step(state.step.value_or(std::numeric_limits<std::int64_t>::max()));
    if (place.view && place.view->step == step) return &*place.view;
    Result<TrainingView> view = place.run->state_at(step);
    if (!view) {
        error_ = view.error();
        return nullptr;
    }
    place.view = *std::move(view);
    return &*place.view;
}

}  // namespace attn::app
