#include <algorithm>
#include <array>

#include "io/config_keys.hpp"

namespace attn {

namespace {

// Behind an architecture, all that llama.cpp's loader knows (src/llama-arch.cpp).
constexpr std::array<std::string_view, 128> loader_names{"vocab_size",
                                                         "context_length",
                                                         "embedding_length",
                                                         "embedding_length_out",
                                                         "embedding_length_per_layer_input",
                                                         "features_length",
                                                         "block_count",
                                                         "leading_dense_block_count",
                                                         "feed_forward_length",
                                                         "expert_feed_forward_length",
                                                         "expert_shared_feed_forward_length",
                                                         "expert_chunk_feed_forward_length",
                                                         "swiglu_clamp_exp",
                                                         "swiglu_clamp_shexp",
                                                         "use_parallel_residual",
                                                         "tensor_data_layout",
                                                         "expert_count",
                                                         "expert_used_count",
                                                         "expert_shared_count",
                                                         "expert_group_count",
                                                         "expert_group_used_count",
                                                         "expert_weights_scale",
                                                         "expert_weights_norm",
                                                         "expert_gating_func",
                                                         "expert_group_scale",
                                                         "experts_per_group",
                                                         "moe_every_n_layers",
                                                         "moe_latent_size",
                                                         "nextn_predict_layers",
                                                         "n_deepstack_layers",
                                                         "deepstack_mapping",
                                                         "hidden_activation",
                                                         "pooling_type",
                                                         "logit_scale",
                                                         "decoder_start_token_id",
                                                         "decoder_block_count",
                                                         "attn_logit_softcapping",
                                                         "router_logit_softcapping",
                                                         "final_logit_softcapping",
                                                         "swin_norm",
                                                         "rescale_every_n_layers",
                                                         "time_mix_extra_dim",
                                                         "time_decay_extra_dim",
                                                         "residual_scale",
                                                         "embedding_scale",
                                                         "token_shift_count",
                                                         "interleave_moe_layer_step",
                                                         "full_attention_interval",
                                                         "attention.head_count",
                                                         "attention.head_count_kv",
                                                         "attention.max_alibi_bias",
                                                         "attention.clamp_kqv",
                                                         "attention.key_length",
                                                         "attention.value_length",
                                                         "attention.layer_norm_epsilon",
                                                         "attention.layer_norm_rms_epsilon",
                                                         "attention.group_norm_epsilon",
                                                         "attention.group_norm_groups",
                                                         "attention.causal",
                                                         "attention.q_lora_rank",
                                                         "attention.kv_lora_rank",
                                                         "attention.decay_lora_rank",
                                                         "attention.iclr_lora_rank",
                                                         "attention.value_residual_mix_lora_rank",
                                                         "attention.gate_lora_rank",
                                                         "attention.relative_buckets_count",
                                                         "attention.sliding_window",
                                                         "attention.sliding_window_pattern",
                                                         "attention.scale",
                                                         "attention.output_scale",
                                                         "attention.value_scale",
                                                         "attention.temperature_length",
                                                         "attention.temperature_scale",
                                                         "attention.key_length_mla",
                                                         "attention.value_length_mla",
                                                         "attention.key_length_swa",
                                                         "attention.value_length_swa",
                                                         "attention.indexer.head_count",
                                                         "attention.indexer.key_length",
                                                         "attention.indexer.top_k",
                                                         "attention.output_group_count",
                                                         "attention.output_lora_rank",
                                                         "attention.compress_rope_freq_base",
                                                         "attention.compress_ratios",
                                                         "attention.shared_kv_layers",
                                                         "attention.recurrent_layers",
                                                         "hyper_connection.count",
                                                         "hyper_connection.sinkhorn_iterations",
                                                         "hyper_connection.epsilon",
                                                         "hash_layer_count",
                                                         "rope.dimension_count",
                                                         "rope.dimension_count_swa",
                                                         "rope.dimension_sections",
                                                         "rope.freq_base",
                                                         "rope.freq_base_swa",
                                                         "rope.scale_linear",
                                                         "rope.scaling.type",
                                                         "rope.scaling.factor",
                                                         "rope.scaling.alpha",
                                                         "rope.scaling.attn_factor",
                                                         "rope.scaling.original_context_length",
                                                         "rope.scaling.finetuned",
                                                         "rope.scaling.yarn_log_multiplier",
                                                         "rope.scaling.yarn_ext_factor",
                                                         "rope.scaling.yarn_attn_factor",
                                                         "rope.scaling.yarn_beta_fast",
                                                         "rope.scaling.yarn_beta_slow",
                                                         "ssm.conv_kernel",
                                                         "ssm.inner_size",
                                                         "ssm.state_size",
                                                         "ssm.time_step_rank",
                                                         "ssm.group_count",
                                                         "ssm.dt_b_c_rms",
                                                         "kda.head_dim",
                                                         "wkv.head_size",
                                                         "posnet.embedding_length",
                                                         "posnet.block_count",
                                                         "convnext.embedding_length",
                                                         "convnext.block_count",
                                                         "classifier.output_labels",
                                                         "target_layers",
                                                         "target_hidden_size",
                                                         "norm_before_residual",
                                                         "shortconv.l_cache",
                                                         "dense_2_feat_in",
                                                         "dense_2_feat_out",
                                                         "dense_3_feat_in",
                                                         "dense_3_feat_out"};

struct GgufRow {
    std::string_view name;
    std::string_view architectures = "";  // empty: all
};
constexpr std::array computed_gguf{
    GgufRow{"block_count"},
    GgufRow{"embedding_length"},
    GgufRow{"context_length"},
    GgufRow{"feed_forward_length"},
    GgufRow{"attention.head_count"},
    GgufRow{"attention.head_count_kv"},
    GgufRow{"attention.key_length"},
    GgufRow{"attention.value_length"},
    GgufRow{"attention.causal"},
    GgufRow{"attention.layer_norm_epsilon", "gpt2"},
    GgufRow{"attention.layer_norm_rms_epsilon", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"attention.sliding_window", "gemma2 gemma3 phi3"},
    GgufRow{"attention.sliding_window_pattern", "gemma2 gemma3"},
    GgufRow{"attn_logit_softcapping", "gemma2 gemma3"},
    GgufRow{"final_logit_softcapping", "gemma2 gemma3"},
    GgufRow{"rope.dimension_count", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.freq_base", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.freq_base_swa", "gemma3"},
    GgufRow{"rope.scale_linear", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.type", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.factor", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.attn_factor", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.original_context_length", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.yarn_ext_factor", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.yarn_attn_factor", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.yarn_beta_fast", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
    GgufRow{"rope.scaling.yarn_beta_slow", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
};
// The tensors tell the size of the vocabulary; rotary positions of gpt2 and both kinds of epsilon come from
// converters that write them for all.
constexpr std::array harmless_gguf{
    GgufRow{"vocab_size"},
    GgufRow{"tensor_data_layout"},
    GgufRow{"pooling_type"},
    GgufRow{"rope.scaling.finetuned"},
    GgufRow{"expert_used_count"},
    GgufRow{"rope.dimension_count", "gpt2"},
    GgufRow{"rope.freq_base", "gpt2"},
    GgufRow{"attention.layer_norm_rms_epsilon", "gpt2"},
    GgufRow{"attention.layer_norm_epsilon", "llama qwen2 qwen3 gemma2 gemma3 phi3"},
};

bool has_row(std::span<const GgufRow> all, std::string_view architecture, std::string_view key) {
    return std::ranges::any_of(all, [&](const GgufRow& row) {
        return row.name == key && (row.architectures.empty() || is_among(row.architectures, architecture));
    });
}

}  // namespace

std::span<const std::string_view> gguf_key_names() { return loader_names; }

std::optional<KeyUse> gguf_key_use(std::string_view architecture, std::string_view key) {
    // What is about the file, its tokens and where it came from is read where it counts.
    for (const std::string_view start :
         {"general.", "tokenizer.", "split.", "quantize.", "adapter.", "imatrix."})
        if (key.starts_with(start)) return KeyUse::harmless;
    if (has_row(computed_gguf, architecture, key)) return KeyUse::computed;
    if (has_row(harmless_gguf, architecture, key)) return KeyUse::harmless;
    if (std::ranges::find(loader_names, key) != loader_names.end()) return KeyUse::refused;
    return std::nullopt;
}

}  // namespace attn
