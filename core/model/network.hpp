// The weights of a model in the order in which a run uses them, whatever its family calls them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/model_config.hpp"
#include "kernels/table.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct Linear {
    std::string name;  // in the checkpoint, without ".weight" and ".bias"
    WeightView weight;
    Tensor bias;  // [out], or empty
};

struct Norm {
    enum class Kind { layer, rms };
    std::string name;  // likewise
    Kind kind = Kind::layer;
    Tensor gain;  // [d_model]
    Tensor bias;  // [d_model], or empty
    float epsilon = 0;
};

struct Block {
    Norm attention_norm;
    std::vector<Linear> qkv;  // their outputs side by side are Q of all heads, then K, then V
    float scale = 1;          // of the scores
    Index window = 0;         // keys a query sees, itself among them; 0: all
    Linear attention_out;     // W_O
    Norm mlp_norm;
    std::optional<Linear> gate;
    Linear up;
    Linear down;
};

struct Network {
    WeightView token_embedding;                    // rows of d_model = in
    std::optional<WeightView> position_embedding;  // rows of d_model = in
    std::vector<double> rotary;  // radians a position, by pair [head_dim / 2]; empty: Q and K are not turned
    std::vector<Block> blocks;
    Norm final_norm;
    Linear head;  // to the logits
};

}  // namespace attn
