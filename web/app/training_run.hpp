// One training run: a network that learns in slices, and what a time axis shows of it.
//
// Whatever the slices, a run is what its plan says; one that is forked from another is the same as one trained from
// the start by the forked plan.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/head_measuring.hpp"
#include "app/training_data.hpp"
#include "model/trace.hpp"

namespace attn::app {

struct TrainingPoint {
    std::int64_t step = 0;         // after so many steps
    std::vector<HeadPoint> heads;  // [layers · heads]
    bool operator==(const TrainingPoint&) const = default;
};

// The network as it was after some steps, and what it makes of the probe.
struct TrainingView {
    std::int64_t step = 0;
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Trace> probe;  // its records are the attention maps
};

class TrainingRun {
  public:
    // An error where the plan cannot be, or its text supports no training.
    static Result<TrainingRun> start(TrainingPlan plan);
    // Takes over what two plans have in common, from the newest checkpoint of that, no later than `latest`.
    static Result<TrainingRun> fork(const TrainingRun& from, TrainingPlan plan,
                                    std::int64_t latest = training_steps_limit);

    const TrainingPlan& plan() const { return plan_; }
    const TrainingData& data() const { return *data_; }

    // Works towards so many steps for about `budget_ms`; true while there is more to do.
    bool advance(std::int64_t target, double budget_ms);
    // The newest step that state_at() shows; after a failure the last good checkpoint's.
    std::int64_t steps_taken() const;
    bool finished() const { return failure_ || steps_taken() == plan_.steps; }
    const std::optional<Error>& failure() const { return failure_; }  // it goes on no more

    std::span<const float> losses() const { return losses_; }  // nats a target, of each step's batch
    // By ascending steps, at most 256: of every step in so many, which grow as the run goes on, and of the last.
    std::span<const TrainingPoint> points() const { return points_; }
    // The steps that can be shown and forked from: as the points, as many as memory allows, and the newest.
    std::vector<std::int64_t> checkpoints() const;

    // The last of checkpoints() that is not after `step`, or the first.
    std::int64_t shown_step(std::int64_t step) const;
    // At shown_step(step). One forward pass of the probe: short work.
    Result<TrainingView> state_at(std::int64_t step) const;
    // Of the probe's mean loss by the attention output of every head: a layer each [heads, n, head_dim], zeros for heads
    // that are left out. A forward and a backward pass of the probe.
    std::vector<Tensor> attention_gradients(const TrainingView& view) const;

  private:
    struct Checkpoint {
        std::int64_t step = 0;
        std::shared_ptr<const std::vector<std::byte>> bytes;  // of Trainer::checkpoint
    };

    TrainingRun() = default;
    Status begin(const Checkpoint* from);
    Status train_from(std::int64_t step, const std::vector<std::byte>* checkpoint);  // null: from the start
    Status enter_values();  // of the step that comes next
    Status begin_measuring();
    void work();  // a slice
    void keep_point();
    void fail(Error error);
    Result<std::shared_ptr<const Model>> model_at(const Checkpoint& checkpoint) const;

    TrainingPlan plan_;
    std::shared_ptr<const TrainingData> data_;
    std::optional<Trainer> trainer_;  // none after a failure
    ParameterLayout layout_;
    std::optional<HeadMeasuring> measuring_;
    std::vector<float> losses_;
    std::vector<TrainingPoint> points_;
    std::vector<Checkpoint> checkpoints_;
    std::int64_t point_stride_ = 4, checkpoint_stride_ = 4;
    std::optional<Error> failure_;
};

}  // namespace attn::app
