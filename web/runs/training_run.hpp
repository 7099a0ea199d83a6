// A training run is a network that learns in slices, with the history that a time axis shows.
//
// A run depends only on its plan, not on the slices. A run forked from another equals one trained from the
// start with the forked plan.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/trace.hpp"
#include "runs/head_measuring.hpp"
#include "runs/training_data.hpp"

namespace attn::app {

struct TrainingPoint {
    std::int64_t step = 0;         // the number of steps taken
    std::vector<HeadPoint> heads;  // [layers · heads]
    bool operator==(const TrainingPoint&) const = default;
};

// The network after some number of steps, and its pass over the probe.
struct TrainingView {
    std::int64_t step = 0;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Trace> probe;  // its records are the attention maps
};

class TrainingRun {
  public:
    // It is an error if the plan is invalid or its text cannot be trained on.
    static Result<TrainingRun> start(TrainingPlan plan);
    // Takes over what two plans share, from the newest common checkpoint that is no later than `latest`.
    static Result<TrainingRun> fork(const TrainingRun& from, TrainingPlan plan,
                                    std::int64_t latest = training_steps_limit);

    const TrainingPlan& plan() const { return plan_; }
    const TrainingData& data() const { return *data_; }

    // Returns its memory: its checkpoints, except those already counted, and the trainer that continues from
    // the newest.
    std::int64_t bytes(std::set<const void*>& counted) const;

    // Works towards step `target` for about `budget_ms`; true while there is more to do.
    bool advance(std::int64_t target, double budget_ms);
    // Returns the newest step that state_at() can show; after a failure, the step of the last good
    // checkpoint.
    std::int64_t steps_taken() const;
    bool finished() const { return failure_ || steps_taken() == plan_.steps; }
    const std::optional<Error>& failure() const { return failure_; }  // the run cannot go on

    std::span<const float> losses() const { return losses_; }  // nats per target, one for each step's batch
    // Number of targets that the newest loss averages; 0: no step was taken.
    Index targets() const { return targets_; }
    // Returns at most 256 points in ascending order of steps, at a stride that grows with the run, and the
    // newest point.
    std::span<const TrainingPoint> points() const { return points_; }
    // Returns the steps that can be shown and forked from: those of points(), as far as memory allows, and
    // the newest.
    std::vector<std::int64_t> checkpoints() const;

    // Returns the last of checkpoints() that is not after `step`, or the first.
    std::int64_t shown_step(std::int64_t step) const;
    // Returns the view at shown_step(step). It takes one forward pass of the probe, which is short.
    Result<TrainingView> state_at(std::int64_t step) const;
    // Returns the gradient of the probe's mean loss with respect to every head's attention output: one
    // [heads, n, head_dim] per layer, zero for ablated heads. It takes a forward and a backward pass of the
    // probe.
    std::vector<Tensor> attention_gradients(const TrainingView& view) const;

  private:
    struct Checkpoint {
        std::int64_t step = 0;
        std::shared_ptr<const std::vector<std::byte>> bytes;  // written by Trainer::checkpoint
    };

    TrainingRun() = default;
    Status begin(const Checkpoint* from);
    Status train_from(std::int64_t step, const std::vector<std::byte>* checkpoint);  // null: from the start
    Status enter_values();  // applies the values of the next step
    Status begin_measuring();
    void work();  // does a slice
    void keep_point();
    void fail(Error error);
    Result<std::shared_ptr<const Model>> model_at(const Checkpoint& checkpoint) const;

    TrainingPlan plan_;
    std::shared_ptr<const TrainingData> data_;
    std::optional<Trainer> trainer_;  // none after a failure
    ParameterLayout layout_;
    std::optional<HeadMeasuring> measuring_;
    std::vector<float> losses_;
    Index targets_ = 0;
    std::vector<TrainingPoint> points_;
    std::vector<Checkpoint> checkpoints_;
    std::int64_t point_stride_ = 4, checkpoint_stride_ = 4;
    std::optional<Error> failure_;
};

}  // namespace attn::app
