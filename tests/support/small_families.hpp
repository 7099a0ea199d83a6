// Provides a network of each family that is small enough for every test, with the keys of its published files
// and weights drawn from a seed.
#pragma once

#include <catch_amalgamated.hpp>
#include <deque>
#include <string>
#include <vector>

#include "attention/head_index.hpp"
#include "model/families.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"
#include "tensor/random.hpp"
#include "unit/model/models.hpp"

namespace attn::test {

struct SmallFamily {
    const char* name;
    const char* config;
    bool causal = true;
};

inline const std::vector<SmallFamily> small_families{
    {"gpt2",
     R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2})"},
    {"llama", R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24})"},
    {"mistral",
     R"({"model_type": "mistral", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "sliding_window": 4})"},
    {"qwen2", R"({"model_type": "qwen2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1})"},
    {"qwen3", R"({"model_type": "qwen3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "head_dim": 6, "tie_word_embeddings": true})"},
    {"gemma", R"({"model_type": "gemma", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "head_dim": 6})"},
    {"gemma2", R"({"model_type": "gemma2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "head_dim": 6, "query_pre_attn_scalar": 6, "sliding_window": 4, "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 3.0})"},
    {"gemma3_text", R"({"model_type": "gemma3_text", "vocab_size": 20, "max_position_embeddings": 16,
        "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1,
        "intermediate_size": 24, "head_dim": 6, "query_pre_attn_scalar": 6, "sliding_window": 4,
        "sliding_window_pattern": 2, "rope_local_base_freq": 100})"},
    {"phi3_window",
     R"({"model_type": "phi3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "sliding_window": 5})"},
    {"phi3", R"({"model_type": "phi3", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "original_max_position_embeddings": 6, "sliding_window": 5, "rope_scaling": {"type": "longrope",
        "short_factor": [1, 1.5, 2, 3], "long_factor": [1.5, 2, 3, 5]}})"},
    {"olmo2", R"({"model_type": "olmo2", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24})"},
    {"mixtral",
     R"({"model_type": "mixtral", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 12,
        "num_local_experts": 4, "num_experts_per_tok": 2})"},
    {"stablelm",
     R"({"model_type": "stablelm", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
        "use_qkv_bias": true})"},
    {"phi", R"({"model_type": "phi", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": null, "intermediate_size": 24})"},
    {"gpt_neox",
     R"({"model_type": "gpt_neox", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "rotary_pct": 0.5})"},
    {"gpt_neox_sequential",
     R"({"model_type": "gpt_neox", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "rotary_pct": 0.5,
        "use_parallel_residual": false})"},
    {"gptj", R"({"model_type": "gptj", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2,
        "n_head": 2, "rotary_dim": 4})"},
    {"falcon", R"({"model_type": "falcon", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2})"},
    {"falcon_new", R"({"model_type": "falcon", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": true})"},
    {"falcon_in_turn",
     R"({"model_type": "falcon", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "multi_query": false, "parallel_attn": false, "bias": true})"},
    {"falcon_one_norm",
     R"({"model_type": "falcon", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": true,
        "num_ln_in_parallel_attn": 1})"},
    {"stablelm_parallel", R"({"model_type": "stablelm", "vocab_size": 20, "max_position_embeddings": 16,
        "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
        "intermediate_size": 24, "use_parallel_residual": true})"},
    {"opt", R"({"model_type": "opt", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24})"},
    {"opt_350m", R"({"model_type": "opt", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24, "do_layer_norm_before": false,
        "word_embed_proj_dim": 12})"},
    {"bert", R"({"model_type": "bert", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24})",
     false},
    {"roberta",
     R"({"model_type": "roberta", "vocab_size": 20, "max_position_embeddings": 18, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "type_vocab_size": 1})",
     false},
    {"distilbert", R"({"model_type": "distilbert", "vocab_size": 20, "max_position_embeddings": 16, "dim": 16,
        "n_layers": 2, "n_heads": 2, "hidden_dim": 24})",
     false},
};

// Each has an encoder and a decoder.
inline const std::vector<SmallFamily> small_encoder_decoders{
    {"t5", R"({"model_type": "t5", "is_encoder_decoder": true, "vocab_size": 20, "d_model": 16, "d_kv": 6,
        "num_heads": 2, "d_ff": 24, "num_layers": 2, "n_positions": 16, "decoder_start_token_id": 0,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6})"},
    {"t5_v1_1",
     R"({"model_type": "t5", "vocab_size": 20, "d_model": 16, "d_kv": 10, "num_heads": 2, "d_ff": 20,
        "num_layers": 3, "num_decoder_layers": 2, "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": false, "layer_norm_epsilon": 1e-6, "relative_attention_num_buckets": 6,
        "relative_attention_max_distance": 5})"},
};
inline std::vector<SmallFamily> all_small_families() {
    std::vector<SmallFamily> all = small_families;
    all.insert(all.end(), small_encoder_decoders.begin(), small_encoder_decoders.end());
    return all;
}

// Weights are normal with a deviation of 0.3; gains are around 1, or around 0 in norms that add 1.
inline ModelFiles files_of(const SmallFamily& family, std::uint64_t seed = 1) {
    const auto text = as_bytes(family.config);
    const auto config = parse_model_config(text);
    INFO(family.name << (config ? "" : ": " + config.error().message));
    REQUIRE(config);
    Random random(seed);
    std::deque<std::vector<float>> numbers;
    std::vector<TensorToWrite> tensors;
    for (const DeclaredWeight& weight : declared_weights(family_rules(config->family), *config)) {
        const bool gain = weight.shape.size() == 1 && weight.name.ends_with(".weight");
        std::vector<float>& values =
            numbers.emplace_back(static_cast<std::size_t>(*element_count(weight.shape)));
        for (float& value : values)
            value = static_cast<float>(0.3 * random.normal() + (gain && !config->norm_adds_one ? 1 : 0));
        tensors.push_back({weight.name, DType::f32, weight.shape, std::as_bytes(std::span(values))});
    }
    ModelFiles files{.config = {text.begin(), text.end()}, .index = {}, .weights = {}};
    files.weights["model.safetensors"] = write_safetensors(tensors);
    return files;
}

inline std::shared_ptr<const Model> small_model(const SmallFamily& family) {
    auto model = Model::load(files_of(family));
    INFO(family.name << (model ? "" : ": " + model.error().message));
    REQUIRE(model);
    return *model;
}

// Runs a text. In an encoder–decoder it is the decoder's text, and the encoder reads another.
inline const std::vector<std::int32_t> encoded_ids{7, 18, 2, 8, 1, 8, 2, 19, 4};
inline Result<std::shared_ptr<const Trace>> run_text(const std::shared_ptr<const Model>& model,
                                                     const std::vector<std::int32_t>& ids) {
    if (model->config().decoder_layers == 0) return run_forward(model, ids);
    return run_forward(model, encoded_ids, default_kernels(), {}, ids);
}
inline Result<ForwardPass> continue_text(const std::shared_ptr<const Trace>& part,
                                         const std::vector<std::int32_t>& ids, double slice_operations) {
    if (!part->encoder()) return ForwardPass::start(part, ids, slice_operations);
    return ForwardPass::start(part, encoded_ids, slice_operations, ids);
}

// Sets a head's output for one token, in place of the computed one.
inline Intervention head_output(HeadIndex head, Index token, std::vector<float> values) {
    return {
        .attention = head.layer,
        .site = Site::head_output,
        .edit = {
            .head = head.head, .rows = {token}, .operation = Operation::set, .values = std::move(values)}};
}

}  // namespace attn::test
