// The weights of a model in the order in which a run uses them, whatever names its family gives them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/model_config.hpp"
#include "kernels/table.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// What a run reads of a Linear and of a Norm, wherever the numbers lie.
struct LinearView {
    WeightView weight;
    std::span<const float> bias;  // [out], or empty
};
struct NormView {
    enum class Kind { layer, rms };
    Kind kind = Kind::layer;
    std::span<const float> gain;  // [d_model]
    std::span<const float> bias;  // [d_model], or empty
    float epsilon = 0;
};

struct Linear {
    std::string name;  // in the checkpoint, without ".weight" and ".bias"
    WeightView weight;
    Tensor bias;

    operator LinearView() const { return {weight, bias.values()}; }
};

struct Norm {
    using Kind = NormView::Kind;
    std::string name;  // also in the checkpoint
    Kind kind = Kind::layer;
    Tensor gain;
    Tensor bias;
    float epsilon = 0;

    operator NormView() const { return {kind, gain.values(), bias.values(), epsilon}; }
};

struct Block {
    Norm attention_norm;
    std::vector<Linear> qkv;  // their outputs side by side are Q of all heads, then K, then V
    float scale = 1;          // for the scores
    Index window = 0;         // how many keys a query sees, including itself; 0: all
    Linear attention_out;     // W_O
    Norm mlp_norm;
    std::optional<Linear> gate;
    Linear up;
    Linear down;
};

struct Network {
    WeightView token_embedding;                    // rows of d_model = in
    std::optional<WeightView> position_embedding;  // rows of d_model = in
    std::vector<double> rotary;  // radians per position, for each pair [head_dim / 2]; empty: no rotation
    std::vector<Block> blocks;
    Norm final_norm;
    Linear head;  // computes the logits
};

}  // namespace attn
