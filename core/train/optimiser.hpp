// The parameters of a network in training, and what AdamW keeps of them from step to step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/head_index.hpp"
#include "kernels/backward.hpp"
#include "train/parameters.hpp"

namespace attn {

struct Schedule {
    std::int64_t steps = 1000;  // in total
    std::int64_t warmup = 100;  // steps from 0 to `rate`, linear
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
    // The matrices' deviation; a larger one makes narrow networks learn sooner.
    double initial_deviation = 0.02;
    double position_waves = 0;  // learned positions begin as waves of this amplitude; 0: like other matrices
    bool attention_only = false;
    std::vector<HeadIndex> ablated = {};  // without duplicates
};

// Returns one sentence that names the offending number and its range, for what a run of any network needs.
Status check(const TrainingSettings& settings);

class Optimiser {
  public:
    Optimiser() = default;
    Optimiser(ParameterLayout layout, ParameterBuffer initial, const TrainingSettings& settings,
              const BackwardKernels& kernels);

    struct Step {
        std::int64_t number = 0;   // the step that was taken, counted from 0
        double loss = 0;           // nats, the mean over the targets of its batch
        double gradient_norm = 0;  // before clipping
        double rate = 0;
        Index targets = 0;  // the loss is the mean over these
    };
    // The gradients are those of one or more threads, which are added up in this order and become 0. If the
    // loss or their sum is not finite, it is an error and no parameter changes.
    Result<Step> step(double loss, std::span<const std::span<float>> gradients);
    std::int64_t steps_taken() const { return step_; }

    const ParameterLayout& layout() const { return layout_; }
    std::span<const float> parameters() const { return parameters_; }
    std::span<float> parameters() { return parameters_; }

    std::vector<std::byte> checkpoint() const;              // a safetensors file
    Status restore(std::span<const std::byte> checkpoint);  // on an error, this must not be used any more

  private:
    ParameterLayout layout_;
    ParameterBuffer parameters_, mean_, square_;  // AdamW's m and v
    TrainingSettings settings_;
    const BackwardKernels* kernels_ = nullptr;
    std::int64_t step_ = 0;
};

}  // namespace attn
