// Training: batches of sequences, gradients, steps of AdamW, checkpoints.
//
// A run is reproducible bit for bit at a given number of threads: what a step draws is a function
// of the seed and the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "train/evaluation.hpp"
#include "train/optimiser.hpp"

namespace attn {

// Returns one sentence that names the offending number and its range.
Status check(const TrainingSettings& settings, const ModelConfig& config);

// Fills ids and targets [context] of a step's sequence, as a function of its arguments alone.
using Batches = std::function<void(std::int64_t step, Index sequence, std::span<std::int32_t> ids,
                                   std::span<std::int32_t> targets)>;

class Trainer {
  public:
    // config_json are the bytes of a config.json. It is an error if the configuration, the settings or
    // the checkpoint is invalid.
    static Result<Trainer> start(std::span<const std::byte> config_json, const TrainingSettings& settings,
                                 Batches batches, const TrainedKernels& kernels = {});
    // Continues exactly where the checkpoint was taken, which must be from the same configuration and
    // settings.
    static Result<Trainer> resume(std::span<const std::byte> config_json, const TrainingSettings& settings,
                                  Batches batches, std::span<const std::byte> checkpoint);

    using Step = Optimiser::Step;
    // Does a part of a step, one sequence per thread. Returns whether that completed the step; then `last`
    // describes it. If the loss or the gradient is not finite, it is an error and nothing changes.
    Result<bool> advance();
    Result<Step> step();  // does what is left of a step
    const Step& last() const { return last_; }
    std::int64_t steps_taken() const { return optimiser_.steps_taken(); }

    Evaluation evaluate(std::span<const std::int32_t> ids) const;

    const ParameterLayout& layout() const { return optimiser_.layout(); }
    const ModelConfig& config() const { return config_; }
    std::span<const float> parameters() const { return optimiser_.parameters(); }
    std::span<float> parameters() { return optimiser_.parameters(); }

    std::vector<std::byte> checkpoint() const { return optimiser_.checkpoint(); }
    std::vector<std::byte> weights(DType dtype) const;  // model.safetensors, f32 or f16
    // Returns the model as it runs; it shares nothing with this object.
    Result<std::shared_ptr<const Model>> model() const;

  private:
    Trainer() = default;
    ParameterBuffer parameters_as_run() const;  // ablated heads write nothing

    std::vector<std::byte> config_json_;
    ModelConfig config_;
    TrainingSettings settings_;
    Batches batches_;
    Optimiser optimiser_;
    std::unique_ptr<TrainedNetwork> network_;

    // This belongs to the step in progress: each thread has a part of the batch's sequences.
    struct Shard;
    std::vector<std::shared_ptr<Shard>> shards_;
    Index next_sequence_ = 0;
    Step last_;
};

}  // namespace attn
