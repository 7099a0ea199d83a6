// Reads a model's config.json, as transformers 4 and 5 write it, for the families that this program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/activation.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

enum class Family {
    gpt2,   // learned positions, LayerNorm, one hidden layer in the MLP
    llama,  // rotary positions, RMSNorm, gated MLP, grouped heads: also mistral and qwen2
};

// What stretches rotary positions beyond the trained length; model/rope_scaling.hpp has the formulas.
struct RopeScaling {
    enum class Kind { none, linear, ntk, yarn, llama3 };
    Kind kind = Kind::none;
    double factor = 1;            // all but none
    double low_freq_factor = 1;   // llama3
    double high_freq_factor = 4;  // llama3
    Index original_context = 0;   // yarn, llama3
    double beta_fast = 32;        // yarn
    double beta_slow = 1;         // yarn
    bool operator==(const RopeScaling&) const = default;
};

struct ModelConfig {
    Family family = Family::gpt2;
    std::string model_type;  // as the file has it: "gpt2", "llama", "mistral", "qwen2"
    std::string dtype;       // of the published weights, as the file has it; empty: not given

    Index vocab_size = 0;
    Index layers = 0;
    Index heads = 0;
    Index kv_heads = 0;  // divides heads
    Index d_model = 0;
    Index head_dim = 0;  // even if positions are rotary; heads · head_dim may differ from d_model
    Index d_ff = 0;
    Index context = 0;  // the most positions that the model was made for

    double norm_epsilon = 0;
    Activation activation = Activation::gelu_tanh;
    bool qkv_bias = false;
    bool attention_output_bias = false;
    bool mlp_bias = false;
    bool tie_word_embeddings = false;

    bool scale_by_head_dim = true;      // scores divided by √head_dim
    bool scale_by_layer_index = false;  // and by layer + 1

    double rope_theta = 0;  // llama
    RopeScaling rope_scaling;
    std::vector<Index> windows;  // per layer: how many keys a query sees, including itself; 0: all

    // These ids are as in the file: they may lie outside the vocabulary.
    std::vector<std::int64_t> bos_ids;
    std::vector<std::int64_t> eos_ids;

    bool operator==(const ModelConfig&) const = default;
};

Result<ModelConfig> parse_model_config(std::span<const std::byte> json);

}  // namespace attn
