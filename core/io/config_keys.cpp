#include "io/config_keys.hpp"

#include <algorithm>
#include <array>

namespace attn {

namespace {

// Sizes, then what the families have of their own, as the classes of transformers order them. A null counts
// as in the class: there is none, or it follows from others.
constexpr std::array config_class_rows{
    ConfigClass{"gpt2",
                R"({"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
        "n_inner": null, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": false, "is_causal": true,
        "tie_word_embeddings": true, "bos_token_id": 50256, "eos_token_id": 50256})"},
    ConfigClass{"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "attention_bias": false,
        "mlp_bias": false, "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null,
        "partial_rotary_factor": 1.0, "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 1,
        "eos_token_id": 2})"},
    ConfigClass{"mistral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "sliding_window": 4096,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2})"},
    ConfigClass{"mixtral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "sliding_window": null,
        "num_local_experts": 8, "num_experts_per_tok": 2, "rope_theta": 1e6, "rope_scaling": null,
        "rope_parameters": null, "partial_rotary_factor": 1.0, "is_causal": true, "tie_word_embeddings": false,
        "bos_token_id": 1, "eos_token_id": 2})"},
    ConfigClass{"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
        "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": null, "eos_token_id": null})"},
    ConfigClass{"qwen3", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
        "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "attention_bias": false,
        "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": null, "eos_token_id": null})"},
    ConfigClass{"gemma", R"({"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 8192, "rms_norm_eps": 1e-6,
        "attention_bias": false, "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null,
        "partial_rotary_factor": 1.0, "is_causal": true, "use_bidirectional_attention": false,
        "tie_word_embeddings": true, "bos_token_id": 2, "eos_token_id": 1})"},
    ConfigClass{"gemma2", R"({"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 8192, "rms_norm_eps": 1e-6,
        "attention_bias": false, "query_pre_attn_scalar": 256, "sliding_window": 4096, "layer_types": null,
        "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "rope_theta": 10000.0,
        "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0, "is_causal": true,
        "use_bidirectional_attention": false, "tie_word_embeddings": true, "bos_token_id": 2,
        "eos_token_id": 1})"},
    ConfigClass{"gemma3_text", R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
        "attention_bias": false, "query_pre_attn_scalar": 256, "sliding_window": 4096, "layer_types": null,
        "sliding_window_pattern": null, "_sliding_window_pattern": 6, "attn_logit_softcapping": null,
        "final_logit_softcapping": null, "rope_theta": 1e6, "rope_local_base_freq": 10000.0,
        "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0, "is_causal": true,
        "use_bidirectional_attention": false, "tie_word_embeddings": true, "bos_token_id": 2,
        "eos_token_id": 1})"},
    ConfigClass{"phi", R"({"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192,
        "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": null, "head_dim": null,
        "hidden_act": "gelu_new", "max_position_embeddings": 2048, "layer_norm_eps": 1e-5,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 0.5,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2})"},
    ConfigClass{"phi3", R"({"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 4096, "original_max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5, "sliding_window": null, "rope_theta": 10000.0, "rope_scaling": null,
        "rope_parameters": null, "partial_rotary_factor": 1.0, "is_causal": true,
        "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 32000})"},
    ConfigClass{"olmo2", R"({"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "attention_bias": false,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": null, "eos_token_id": 50279})"},
    ConfigClass{"stablelm", R"({"vocab_size": 50304, "hidden_size": 2560, "intermediate_size": 6912,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": null,
        "hidden_act": "silu", "max_position_embeddings": 4096, "layer_norm_eps": 1e-5, "use_qkv_bias": false,
        "use_parallel_residual": false, "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null,
        "partial_rotary_factor": 0.25, "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 0,
        "eos_token_id": 0})"},
    ConfigClass{"gpt_neox", R"({"vocab_size": 50432, "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 44, "num_attention_heads": 64, "hidden_act": "gelu",
        "max_position_embeddings": 2048, "layer_norm_eps": 1e-5, "attention_bias": true,
        "use_parallel_residual": true, "rotary_emb_base": 10000.0, "rotary_pct": 0.25, "rope_scaling": null,
        "rope_parameters": null, "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 0,
        "eos_token_id": 2})"},
    ConfigClass{"gptj",
                R"({"vocab_size": 50400, "n_positions": 2048, "n_embd": 4096, "n_layer": 28, "n_head": 16,
        "n_inner": null, "rotary_dim": 64, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "is_causal": true, "tie_word_embeddings": false, "bos_token_id": 50256, "eos_token_id": 50256})"},
    ConfigClass{"falcon", R"({"vocab_size": 65024, "hidden_size": 4544, "ffn_hidden_size": null,
        "num_hidden_layers": 32, "num_attention_heads": 71, "num_kv_heads": null, "multi_query": true,
        "new_decoder_architecture": false, "num_ln_in_parallel_attn": null, "parallel_attn": true,
        "bias": false, "activation": "gelu", "max_position_embeddings": 2048, "layer_norm_epsilon": 1e-5,
        "rope_theta": 10000.0, "rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1.0,
        "is_causal": true, "tie_word_embeddings": true, "bos_token_id": 11, "eos_token_id": 11})"},
    ConfigClass{"opt",
                R"({"vocab_size": 50272, "hidden_size": 768, "word_embed_proj_dim": null, "ffn_dim": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 2048,
        "do_layer_norm_before": true, "enable_bias": true, "activation_function": "relu", "is_causal": true,
        "tie_word_embeddings": true, "bos_token_id": 2, "eos_token_id": 2})"},
    ConfigClass{"bert", R"({"vocab_size": 30522, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "hidden_act": "gelu",
        "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "tie_word_embeddings": true, "bos_token_id": null, "eos_token_id": null})"},
    ConfigClass{"roberta", R"({"vocab_size": 50265, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "hidden_act": "gelu",
        "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 1,
        "tie_word_embeddings": true, "bos_token_id": 0, "eos_token_id": 2})"},
    ConfigClass{"distilbert", R"({"vocab_size": 30522, "dim": 768, "hidden_dim": 3072, "n_layers": 6,
        "n_heads": 12, "activation": "gelu", "max_position_embeddings": 512, "tie_word_embeddings": true,
        "bos_token_id": null, "eos_token_id": null})"},
    ConfigClass{"t5", R"({"vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6,
        "num_decoder_layers": null, "num_heads": 8, "n_positions": null, "layer_norm_epsilon": 1e-6,
        "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128,
        "feed_forward_proj": "relu", "dense_act_fn": null, "is_gated_act": null, "is_encoder_decoder": true,
        "scale_decoder_outputs": true, "tie_word_embeddings": true, "pad_token_id": 0,
        "decoder_start_token_id": null, "bos_token_id": null, "eos_token_id": 1})"},
};

constexpr auto harmless = KeyUse::harmless;
constexpr auto refused = KeyUse::refused;
constexpr std::string_view encoders = "bert roberta distilbert";
constexpr std::string_view llama_types =
    "llama mistral mixtral qwen2 qwen3 gemma gemma2 gemma3_text phi phi3 olmo2 stablelm";

// The first row about a key counts.
constexpr std::array key_rows{
    // What every class knows.
    KeyRow{"model_type", KeyUse::computed},
    KeyRow{"dtype", KeyUse::computed},
    KeyRow{"torch_dtype", KeyUse::computed},
    KeyRow{"is_encoder_decoder", refused, "", "false", "describes an encoder with a decoder"},
    KeyRow{"quantization_config", refused, "", "", "says that the weights are quantised"},
    KeyRow{"add_cross_attention", refused, "", "false", "asks for cross attention"},
    KeyRow{"cross_attention_hidden_size", refused, "", "", "asks for cross attention"},
    KeyRow{"tie_encoder_decoder", refused, "", "false", "ties an encoder to a decoder"},
    KeyRow{"pruned_heads", refused, "", "{}", "takes heads away"},
    KeyRow{"per_layer_config", refused, "", "{} []", "has layers that differ"},
    KeyRow{"is_causal", refused, encoders, "false", "asks for attention in one direction"},
    KeyRow{"is_causal", refused, "t5", "true", "asks for attention in both directions"},
    KeyRow{"is_decoder", refused, encoders, "false", "describes a decoder"},
    KeyRow{"is_decoder"},
    KeyRow{"transformers_version"},
    KeyRow{"transformers_weights"},
    KeyRow{"architectures"},
    KeyRow{"auto_map"},
    KeyRow{"name_or_path"},
    KeyRow{"_name_or_path"},
    KeyRow{"_commit_hash"},
    KeyRow{"attn_implementation"},
    KeyRow{"_attn_implementation"},
    KeyRow{"_attn_implementation_autoset"},
    KeyRow{"_attn_implementation_internal"},
    KeyRow{"experts_implementation"},
    KeyRow{"_experts_implementation_internal"},
    KeyRow{"output_hidden_states"},
    KeyRow{"output_attentions"},
    KeyRow{"return_dict"},
    KeyRow{"use_return_dict"},
    KeyRow{"torchscript"},
    KeyRow{"use_bfloat16"},
    KeyRow{"tf_legacy_loss"},
    KeyRow{"chunk_size_feed_forward"},
    KeyRow{"finetuning_task"},
    KeyRow{"id2label"},
    KeyRow{"label2id"},
    KeyRow{"num_labels"},
    KeyRow{"_num_labels"},
    KeyRow{"problem_type"},
    KeyRow{"task_specific_params"},
    KeyRow{"tokenizer_class"},
    KeyRow{"prefix"},
    KeyRow{"pad_token_id"},
    KeyRow{"sep_token_id"},
    KeyRow{"decoder_start_token_id"},
    KeyRow{"use_cache"},
    KeyRow{"cache_implementation"},
    KeyRow{"gradient_checkpointing"},
    KeyRow{"keys_to_ignore_at_inference"},
    KeyRow{"ignore_keys_at_rope_validation"},
    KeyRow{"output_past"},
    KeyRow{"initializer_range"},
    KeyRow{"initializer_factor"},
    KeyRow{"init_std"},
    KeyRow{"attention_dropout"},
    KeyRow{"hidden_dropout"},
    KeyRow{"classifier_dropout"},
    KeyRow{"resid_pdrop"},
    KeyRow{"embd_pdrop"},
    KeyRow{"attn_pdrop"},
    KeyRow{"dropout"},
    KeyRow{"activation_dropout"},
    KeyRow{"layerdrop"},
    KeyRow{"dropout_rate"},
    KeyRow{"hidden_dropout_prob"},
    KeyRow{"attention_probs_dropout_prob"},
    KeyRow{"qa_dropout"},
    KeyRow{"seq_classif_dropout"},
    // How a text is generated, which older files say here.
    KeyRow{"max_length"},
    KeyRow{"max_new_tokens"},
    KeyRow{"min_length"},
    KeyRow{"min_new_tokens"},
    KeyRow{"early_stopping"},
    KeyRow{"max_time"},
    KeyRow{"stop_strings"},
    KeyRow{"do_sample"},
    KeyRow{"num_beams"},
    KeyRow{"num_beam_groups"},
    KeyRow{"penalty_alpha"},
    KeyRow{"dola_layers"},
    KeyRow{"cache_config"},
    KeyRow{"return_legacy_cache"},
    KeyRow{"prefill_chunk_size"},
    KeyRow{"temperature"},
    KeyRow{"top_k"},
    KeyRow{"top_p"},
    KeyRow{"top_h"},
    KeyRow{"min_p"},
    KeyRow{"typical_p"},
    KeyRow{"epsilon_cutoff"},
    KeyRow{"eta_cutoff"},
    KeyRow{"diversity_penalty"},
    KeyRow{"repetition_penalty"},
    KeyRow{"encoder_repetition_penalty"},
    KeyRow{"length_penalty"},
    KeyRow{"no_repeat_ngram_size"},
    KeyRow{"encoder_no_repeat_ngram_size"},
    KeyRow{"bad_words_ids"},
    KeyRow{"force_words_ids"},
    KeyRow{"renormalize_logits"},
    KeyRow{"constraints"},
    KeyRow{"forced_bos_token_id"},
    KeyRow{"forced_eos_token_id"},
    KeyRow{"remove_invalid_values"},
    KeyRow{"exponential_decay_length_penalty"},
    KeyRow{"suppress_tokens"},
    KeyRow{"begin_suppress_tokens"},
    KeyRow{"forced_decoder_ids"},
    KeyRow{"sequence_bias"},
    KeyRow{"token_healing"},
    KeyRow{"guidance_scale"},
    KeyRow{"low_memory"},
    KeyRow{"watermarking_config"},
    KeyRow{"num_return_sequences"},
    KeyRow{"output_scores"},
    KeyRow{"output_logits"},
    KeyRow{"return_dict_in_generate"},
    // What some families know.
    KeyRow{"n_ctx", harmless, "gpt2 gptj"},
    KeyRow{"n_special", harmless, "gpt2"},
    KeyRow{"predict_special_tokens", harmless, "gpt2"},
    KeyRow{"summary_type", harmless, "gpt2 gptj"},
    KeyRow{"summary_use_proj", harmless, "gpt2 gptj"},
    KeyRow{"summary_activation", harmless, "gpt2 gptj"},
    KeyRow{"summary_proj_to_labels", harmless, "gpt2 gptj"},
    KeyRow{"summary_first_dropout", harmless, "gpt2 gptj"},
    KeyRow{"reorder_and_upcast_attn", harmless, "gpt2"},  // the same products in another precision
    KeyRow{"scale_attn_weights", harmless, "gptj"},       // whose attention divides whatever it says
    KeyRow{"rotary", refused, "gptj", "true", "has positions that are not rotary"},
    KeyRow{"max_sequence_length", harmless, "llama"},
    KeyRow{"pretraining_tp", harmless, "llama"},  // the same products in slices
    KeyRow{"attention_bias", refused, llama_types, "false", "has biases in its attention"},
    KeyRow{"mlp_bias", refused, llama_types, "false", "has biases in its MLPs"},
    KeyRow{"use_mrope", refused, "qwen2", "false", "asks for positions of images"},
    KeyRow{"qk_layernorm", refused, "stablelm phi", "false", "normalises queries and keys"},
    KeyRow{"lm_head_bias", refused, "phi3", "false", "has a bias in its head"},
    KeyRow{"clip_qkv", refused, "olmo2", "", "cuts queries, keys and values off"},
    // Version 4 takes the approximation by tanh whatever this says, and version 5 what it says.
    KeyRow{"hidden_act", refused, "gemma gemma2 gemma3_text", R"("gelu_pytorch_tanh" "gelu_new" "gelu")",
           "has another activation than Gemma's"},
    KeyRow{"output_router_logits", harmless, "mixtral"},
    KeyRow{"router_aux_loss_coef", harmless, "mixtral"},
    KeyRow{"router_jitter_noise", harmless, "mixtral"},
    KeyRow{"alibi", refused, "falcon", "false", "asks for ALiBi"},
    KeyRow{"apply_residual_connection_post_layernorm", refused, "falcon", "false",
           "takes the residual from behind the norm"},
    KeyRow{"_remove_final_layer_norm", refused, "opt", "false",
           "has no last norm though it has norms before the halves"},
    KeyRow{"layer_norm_elementwise_affine", refused, "opt", "true", "has norms without gains"},
    KeyRow{"position_embedding_type", refused, "bert roberta", R"("absolute")",
           "has position embeddings that are not absolute"},
    KeyRow{"directionality", harmless, "bert"},
    KeyRow{"pooler_fc_size", harmless, "bert"},
    KeyRow{"pooler_num_attention_heads", harmless, "bert"},
    KeyRow{"pooler_num_fc_layers", harmless, "bert"},
    KeyRow{"pooler_size_per_head", harmless, "bert"},
    KeyRow{"pooler_type", harmless, "bert"},
    KeyRow{"sinusoidal_pos_embds", harmless, "distilbert"},  // what the table began as
    KeyRow{"tie_weights_", harmless, "distilbert"},
};

constexpr std::array alias_rows{
    KeyAlias{"hidden_size", "n_embd", "gpt2 gptj"},
    KeyAlias{"max_position_embeddings", "n_positions", "gpt2 gptj"},
    KeyAlias{"num_attention_heads", "n_head", "gpt2 gptj"},
    KeyAlias{"num_hidden_layers", "n_layer", "gpt2 gptj"},
    KeyAlias{"hidden_size", "dim", "distilbert"},
    KeyAlias{"num_attention_heads", "n_heads", "distilbert"},
    KeyAlias{"num_hidden_layers", "n_layers", "distilbert"},
    KeyAlias{"hidden_size", "d_model", "t5"},
    KeyAlias{"num_attention_heads", "num_heads", "t5"},
    KeyAlias{"num_hidden_layers", "num_layers", "t5"},
    KeyAlias{"head_dim", "d_kv", "t5"},
    KeyAlias{"num_experts", "num_local_experts", "mixtral"},
    KeyAlias{"rope_theta", "rotary_emb_base", "gpt_neox"},
    KeyAlias{"partial_rotary_factor", "rotary_pct", "gpt_neox"},
    KeyAlias{"n_embed", "hidden_size", "falcon"},
    KeyAlias{"n_layer", "num_hidden_layers", "falcon"},
    KeyAlias{"n_head", "num_attention_heads", "falcon"},
    KeyAlias{"n_head_kv", "num_kv_heads", "falcon"},
};

// Other keys belong to kinds of scaling that are refused by name. Keys that the kind at hand does not have
// count as in transformers: not at all.
constexpr std::array<std::string_view, 13> rope_keys{
    "rope_type",        "type",         "rope_theta",       "partial_rotary_factor",
    "factor",           "short_factor", "low_freq_factor",  "original_max_position_embeddings",
    "attention_factor", "long_factor",  "high_freq_factor", "full_attention",
    "sliding_attention"};
constexpr std::array<std::string_view, 7> harmless_rope_keys{
    "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate", "finetuned", "alpha"};

}  // namespace

std::span<const ConfigClass> config_classes() { return config_class_rows; }
bool none_if_null(std::string_view key) {
    return is_among(
        "num_key_value_heads num_kv_heads head_dim rotary_dim sliding_window attn_logit_softcapping "
        "final_logit_softcapping bos_token_id eos_token_id",
        key);
}
std::span<const KeyRow> config_key_rows() { return key_rows; }
std::span<const KeyAlias> config_key_aliases() { return alias_rows; }

bool is_among(std::string_view between_spaces, std::string_view word) {
    for (std::size_t at = 0; at < between_spaces.size();) {
        const std::size_t end = std::min(between_spaces.find(' ', at), between_spaces.size());
        if (between_spaces.substr(at, end - at) == word) return true;
        at = end + 1;
    }
    return false;
}

const KeyRow* config_key_row(std::string_view model_type, std::string_view key) {
    const auto* found = std::ranges::find_if(key_rows, [&](const KeyRow& row) {
        return row.name == key && (row.types.empty() || is_among(row.types, model_type));
    });
    return found == key_rows.end() ? nullptr : found;
}

std::optional<KeyUse> rope_key_use(std::string_view key) {
    if (std::ranges::find(rope_keys, key) != rope_keys.end()) return KeyUse::computed;
    if (std::ranges::find(harmless_rope_keys, key) != harmless_rope_keys.end()) return KeyUse::harmless;
    return std::nullopt;
}

}  // namespace attn
