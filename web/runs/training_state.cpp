#include "runs/training_state.hpp"

#include <algorithm>
#include <utility>

namespace attn::app {

namespace {

Status train(State& state, const TrainingPlan& plan) {
    if (const Status sound = check(plan); !sound) return sound.error();
    TrainingState& t = state.edit<TrainingState>();
    TrainingPlan before = std::exchange(t.plan, normalised(plan));
    // A link may leave out its text; once the user has pasted it, the run is the one that was linked.
    if (before.text.empty()) before.text = t.plan.text;
    if (t.plan.task == TrainingTask::own_text &&
        (before.task != TrainingTask::own_text || before.text != t.plan.text)) {
        t.running = false;
        t.step.reset();
    } else if (t.running) {
        t.step.reset();
    } else if (t.step) {
        t.step = std::min(*t.step, common_steps(before, t.plan));
    }
    return ok();
}

}  // namespace

Status SetTrainingPlan::apply(State& state) const { return train(state, plan); }
std::string SetTrainingPlan::describe(const State&) const { return "training plan"; }

Status ForkTraining::apply(State& state) const {
    const TrainingPlan before = training_of(state).plan;
    if (const Status possible = check_fork(before, step, values); !possible) return possible.error();
    const TrainingPlan plan = forked(before, step, values);
    if (plan == before) return ok();
    state.edit<TrainingState>().compared = before;
    return train(state, plan);
}
std::string ForkTraining::describe(const State&) const {
    return "training forked at step " + std::to_string(step);
}

Status CompareTraining::apply(State& state) const {
    if (plan)
        if (const Status sound = check(*plan); !sound) return sound.error();
    auto& compared = state.edit<TrainingState>().compared;
    compared = plan;
    if (plan) compared = normalised(*plan);
    return ok();
}
std::string CompareTraining::describe(const State&) const {
    return plan ? "training compared" : "training on its own";
}

Status ShowTrainingStep::apply(State& state) const {
    if (step)
        if (const Status there = check(TrainedHere{training_of(state).plan, *step}); !there)
            return there.error();
    state.edit<TrainingState>().step = step;
    return ok();
}
std::string ShowTrainingStep::describe(const State&) const { return "training step"; }

Status RunTraining::apply(State& state) const {
    state.edit<TrainingState>().running = on;
    return ok();
}
std::string RunTraining::describe(const State&) const { return on ? "training" : "training paused"; }

}  // namespace attn::app
