// A network as it is trained: the loss of a sequence and its gradient by every weight.
//
// Made from a model as it loads, so that what is trained is what runs. The arithmetic is that of
// model/trace.hpp, in the functions of model/block.hpp; the gradient goes back through it step by step
// (Rumelhart, Hinton & Williams 1986). What attention computes between queries and keys is not kept but
// computed again (Dao et al. 2022, arXiv 2205.14135).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/mask.hpp"
#include "model/block.hpp"
#include "model/model.hpp"
#include "train/ablation.hpp"
#include "train/dropout.hpp"
#include "train/layers.hpp"

namespace attn {

class TrainedNetwork {
  public:
    // Fails unless the model computes what GPT-2's or Llama's does (is_plain).
    static Status check(const Model& model);
    // attention_only: blocks without their MLP, whose weights get no gradient; where they are 0 the model
    // that is saved computes the same.
    // ablated: heads of the model that take no part.
    TrainedNetwork(const Model& model, const ParameterLayout& layout, bool attention_only,
                   const TrainedKernels& kernels = {}, std::span<const HeadIndex> ablated = {});

    // What a sequence's forward pass leaves for its backward pass; made once, used again and again.
    struct Activations;
    std::unique_ptr<Activations, void (*)(Activations*)> activations(Index tokens) const;

    // Takes ids and targets [n], n at most the tokens of `kept`. Targets of −1 do not count.
    struct Loss {
        double sum = 0;   // Σ −ln p(target)
        Index right = 0;  // targets that are the most likely token
    };
    Loss loss(std::span<const float> parameters, std::span<const std::int32_t> ids,
              std::span<const std::int32_t> targets, Activations& kept) const;

    // The same sum, with dropout, and adds the gradient of weight · sum to `gradients`.
    double gradient(std::span<const float> parameters, std::span<const std::int32_t> ids,
                    std::span<const std::int32_t> targets, float weight, const Dropout& dropout,
                    Activations& kept, std::span<float> gradients) const;

    // The gradient of the mean of −ln p(target), of the targets that count, by what attention gives: for each
    // layer [heads, n, head_dim]. An ablated head's is 0.
    std::vector<Tensor> attention_gradients(std::span<const float> parameters,
                                            std::span<const std::int32_t> ids,
                                            std::span<const std::int32_t> targets, Activations& kept) const;

  private:
    struct Block {
        TrainedNorm attention_norm;
        std::vector<TrainedLinear> qkv;
        float scale = 1;
        Mask mask;
        std::vector<Index> ablated;  // heads
        TrainedLinear attention_out;
        TrainedNorm mlp_norm;
        TrainedMlp mlp;
    };
    struct LayerActivations;

    // Does what gradient() does; d_heads is what attention_gradients() gives, or empty: not wanted.
    double differentiate(std::span<const float> parameters, std::span<const std::int32_t> ids,
                         std::span<const std::int32_t> targets, float weight, const Dropout& dropout,
                         Activations& kept, std::span<float> gradients, std::span<Tensor> d_heads) const;
    void forward(std::span<const float> parameters, std::span<const std::int32_t> ids, const Dropout& dropout,
                 Activations& kept) const;
    void forward(const Block& block, std::span<const float> parameters, Index n, const Dropout& dropout,
                 Index layer, Activations& kept) const;
    void backward(const Block& block, std::span<const float> parameters, Index n, const Dropout& dropout,
                  Index layer, Activations& kept, std::span<float> gradients) const;
    QkvRows heads(MatrixView<float> qkv) const;
    AttentionCall attention_call(const Block& block, const QkvRows& qkv, MatrixView<float> attended,
                                 LayerActivations& at) const;
    void silence(const Block& block, MatrixView<float> attended) const;  // 0 for ablated heads

    TrainedKernels kernels_;
    ModelConfig config_;
    bool attention_only_;
    Index token_embedding_ = 0;  // offsets
    std::optional<Index> position_embedding_;
    std::vector<double> rotary_;
    std::vector<Block> blocks_;
    TrainedNorm final_norm_;
    TrainedLinear head_;
};

}  // namespace attn
