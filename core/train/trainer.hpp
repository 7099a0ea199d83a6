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

namespace attn {

struct Schedule {
    std::int64_t steps = 1000;  // in total
    std::int64_t warmup = 100;  // from 0 to `rate`, linear
    double rate = 1e-3;         // the maximum; falls from there along half a cosine
    double final_rate = 1e-4;   // at the last step

    double at(std::int64_t step) const;  // the first step is 0
};

struct TrainingSettings {
    Index batch = 12;     // sequences per step
    Index context = 256;  // tokens per sequence
    Schedule schedule;
    double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
    double weight_decay = 0.1;  // for matrices
    double clip = 1;            // the largest norm of a step's gradient; 0: no limit
    double dropout = 0;
    std::uint64_t seed = 1;
    double initial_deviation = 0.02;  // of matrices; a larger one makes narrow networks learn sooner
    double position_waves = 0;  // learned positions begin as waves of this amplitude; 0: like other matrices
    bool attention_only = false;
    std::vector<HeadIndex> ablated = {};  // without duplicates
};

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
    // Continues exactly where the checkpoint was taken, which must be from the same configuration and settings.
    static Result<Trainer> resume(std::span<const std::byte> config_json, const TrainingSettings& settings,
                                  Batches batches, std::span<const std::byte> checkpoint);

    struct Step {
        std::int64_t number = 0;   // of the step that was taken, from 0
        double loss = 0;           // nats per token, over its batch
        double gradient_norm = 0;  // before clipping
        double rate = 0;
    };
    // Does a part of a step, one sequence per thread. Returns whether that completed the step; then `last` describes
    // it. If the loss or the gradient is not finite, it is an error and nothing changes.
    Result<bool> advance();
    Result<Step> step();  // does what is left of a step
    const Step& last() const { return last_; }
    std::int64_t steps_taken() const { return step_; }

    Evaluation evaluate(std::span<const std::int32_t> ids) const;

    const ParameterLayout& layout() const { return layout_; }
    const ModelConfig& config() const { return config_; }
    std::span<const float> parameters() const { return parameters_; }
    std::span<float> parameters() { return parameters_; }

    std::vector<std::byte> checkpoint() const;          // a safetensors file
    std::vector<std::byte> weights(DType dtype) const;  // model.safetensors, f32 or f16
    // Returns the model as it runs; it shares nothing with this object.
    Result<std::shared_ptr<const Model>> model() const;

  private:
    Trainer() = default;
    void finish_step(double loss, double norm);
    ParameterBuffer parameters_as_run() const;  // ablated heads write nothing

    std::vector<std::byte> config_json_;
    ModelConfig config_;
    TrainedKernels kernels_;
    TrainingSettings settings_;
    Batches batches_;
    ParameterLayout layout_;
    std::unique_ptr<TrainedNetwork> network_;
    ParameterBuffer parameters_, mean_, square_;  // AdamW's m and v
    std::int64_t step_ = 0;

    // This belongs to the step in progress: each thread has a part of the batch's sequences.
    struct Shard;
    std::vector<std::shared_ptr<Shard>> shards_;
    Index next_sequence_ = 0;
    Step last_;
};

}  // namespace attn
