#include "runs/training_state.hpp"

namespace attn::app {

namespace {

// A run in progress is shown as it grows; another one is shown from its beginning.
Status train(State& state, const TrainingPlan& plan, std::int64_t begins) {
    if (const Status sound = check(plan); !sound) return sound.error();
    TrainingState& t = state.edit<TrainingState>();
    t.plan = normalised(plan);
    if (t.running)
        t.step.reset();
    else if (t.step)
        t.step = begins;
    return ok();
}

}  // namespace

Status SetTrainingPlan::apply(State& state) const { return train(state, plan, 0); }
std::string SetTrainingPlan::describe(const State&) const { return "training plan"; }

Status ForkTraining::apply(State& state) const {
    const TrainingPlan before = training_of(state).plan;
    if (step < 0 || step >= before.steps)
        return Error{"A run of " + std::to_string(before.steps) + " steps cannot be forked at step " +
                     std::to_string(step) + "."};
    const TrainingPlan plan = forked(before, step, values);
    if (plan == before) return ok();
    state.edit<TrainingState>().compared = before;
    return train(state, plan, step);
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
