// Reads a model's config.json, as transformers 4 and 5 write it, for the families that this program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/activation.hpp"
#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// How a family's checkpoints name their tensors; core/model has a table of each.
enum class Family {
    gpt2,
    llama,  // also mistral, qwen2, qwen3 and gemma
    mixtral,
    gemma2,  // also gemma3_text
    olmo2,
    phi3,
    stablelm,
    phi,
    gpt_neox,
    gptj,
    falcon,
    opt,
    bert,
    roberta,
    distilbert,
    t5,
};

// What attends to what: a text to itself, or, of an encoder–decoder, either text to itself or the decoder's
// to the encoder's.
enum class AttentionKind { self, encoder, decoder, cross };

// What stretches rotary positions beyond the trained length; model/rope_scaling.hpp has the formulas.
struct RopeScaling {
    enum class Kind { none, linear, ntk, yarn, llama3, longrope };
    Kind kind = Kind::none;
    double factor = 1;            // all but none; longrope: context / original_context
    double low_freq_factor = 1;   // llama3
    double high_freq_factor = 4;  // llama3
    Index original_context = 0;   // yarn, llama3, longrope
    double beta_fast = 32;        // yarn
    double beta_slow = 1;         // yarn
    // longrope, for each pair that turns: what divides it in texts of at most original_context tokens, and in
    // longer ones; no long ones: as in the others
    std::vector<double> short_factor = {}, long_factor = {};
    std::optional<double> magnitude = {};  // longrope and yarn, if the file gives it (attention_factor)
    bool operator==(const RopeScaling&) const = default;
};

struct ModelConfig {
    Family family = Family::gpt2;
    std::string model_type;  // the file's word for it: "gpt2", "llama", "mistral", …
    // The published weights' type, in the file's spelling; empty: not given.
    std::string dtype;
    std::vector<std::string> unknown_keys;  // keys of the file that no reader of the family knows

    Index vocab_size = 0;
    Index layers = 0;          // the encoder's, where there is a decoder
    Index decoder_layers = 0;  // layers of a decoder that attends to an encoded text; 0: there is none
    Index heads = 0;
    Index kv_heads = 0;  // divides heads
    Index d_model = 0;
    Index head_dim = 0;  // heads · head_dim may differ from d_model
    Index d_ff = 0;
    // The width of a token embedding that projections widen to d_model; 0: d_model.
    Index embedding_width = 0;
    Index segments = 0;  // how many a token may belong to (BERT's token types); 0: none
    Index experts = 0;   // MLPs of which each token takes some; 0: one that all take
    Index experts_per_token = 0;
    Index context = 0;  // the most positions that the model was made for

    double norm_epsilon = 0;
    Activation activation = Activation::gelu_tanh;
    bool gated_mlp = false;  // T5's may have a gate
    bool qkv_bias = false;
    bool attention_output_bias = false;
    bool mlp_bias = false;
    bool tie_word_embeddings = false;

    bool causal = true;          // a query sees no key after it
    bool parallel = false;       // attention and MLP read the same residual
    bool own_mlp_norm = true;    // false: the MLP reads what attention reads
    bool norms_after = false;    // norms come after each sum (Vaswani et al. 2017), not before each half
    bool norm_adds_one = false;  // norms multiply by 1 + weight
    bool qk_norm = false;        // q and k are normalised before they turn
    double embedding_scale = 1;  // multiplies token embeddings
    double head_scale = 1;       // multiplies what the head reads
    double score_cap = 0;        // cap · tanh(score / cap); 0: none
    double logit_cap = 0;        // likewise
    double query_pre_attn_scalar = 0;  // scores are divided by its root; 0: head_dim

    bool scale_by_head_dim = true;      // scores divided by √head_dim
    bool scale_by_layer_index = false;  // and by layer + 1

    bool learned_positions = false;
    Index first_position = 0;  // the row of the table that the first token has
    // RoBERTa's padding has no position, wherever it stands; −1: all tokens have one.
    std::int32_t padding_id = -1;
    Index rotary_dim = 0;             // how many components of each head turn, even; 0: none
    bool rotary_interleaved = false;  // pairs are neighbours; else halves of the components that turn
    double rope_theta = 0;
    double window_rope_theta = 0;  // used by layers with a window, without scaling; 0: the same as the others
    RopeScaling rope_scaling;
    // Per layer: how many keys a query sees, including itself; where it also sees keys after it, as many of
    // these. 0: all
    std::vector<Index> windows;
    Index buckets = 0;        // distances share a bias in each, like in T5; 0: no biases
    Index most_distance = 0;  // all distances from here on share a bucket

    // These ids are as in the file: they may lie outside the vocabulary.
    std::vector<std::int64_t> bos_ids;
    std::vector<std::int64_t> eos_ids;
    std::int32_t start_id = 0;  // what a decoder reads first

    // How many attentions a model has: one in each layer, and of a decoder that reads an encoder's text two.
    Index attentions() const { return layers + 2 * decoder_layers; }

    bool operator==(const ModelConfig&) const = default;
};

Result<ModelConfig> parse_model_config(std::span<const std::byte> json);

}  // namespace attn
