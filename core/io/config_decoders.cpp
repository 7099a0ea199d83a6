// The keys of models that read from left to right. What a file leaves out is as in its configuration class in
// transformers.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/config_reader.hpp"

namespace attn {

namespace {

// How many heads, in words of the file, if they do not divide the width that they share.
void check_division(Reader& in, const ModelConfig& c, const char* heads, const char* width) {
    if (c.d_model % c.heads != 0)
        in.refuse("has " + std::string(heads) + " = " + std::to_string(c.heads) + ", which does not divide " +
                  width + " = " + std::to_string(c.d_model));
}

void read_sizes(Reader& in, ModelConfig& c) {
    c.d_model = in.size("hidden_size", max_width);
    c.layers = in.size("num_hidden_layers", max_layers);
    c.heads = in.size("num_attention_heads", max_heads);
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
}

// Where the families that share most of Llama's keys have them.
struct LikeLlama {
    std::string_view type;
    Family family;
    const char* epsilon_key = "rms_norm_eps";
    const char* activation_key = "hidden_act";
};
constexpr const char* layer_eps = "layer_norm_eps";
constexpr const char* rms_eps = "rms_norm_eps";
constexpr std::array like_llama{
    LikeLlama{"llama", Family::llama},
    LikeLlama{"mistral", Family::llama},
    LikeLlama{"qwen2", Family::llama},
    LikeLlama{"qwen3", Family::llama},
    LikeLlama{"mixtral", Family::mixtral},
    LikeLlama{"gemma", Family::llama, rms_eps, "hidden_activation"},
    LikeLlama{"gemma2", Family::gemma2, rms_eps, "hidden_activation"},
    LikeLlama{"gemma3_text", Family::gemma2, rms_eps, "hidden_activation"},
    LikeLlama{"phi3", Family::phi3},
    LikeLlama{"olmo2", Family::olmo2},
    LikeLlama{"stablelm", Family::stablelm, layer_eps},
    LikeLlama{"phi", Family::phi, layer_eps},
};

// Decoders that were made to read in both directions: transformers 5.2 has the key for all of them.
void read_direction(Reader& in, ModelConfig& c) { c.causal = in.flag("is_causal", true); }

void read_gemma(Reader& in, ModelConfig& c) {
    c.norm_adds_one = true;
    c.embedding_scale = std::sqrt(static_cast<double>(c.d_model));
    if (in.flag("use_bidirectional_attention")) c.causal = false;
    if (c.model_type == "gemma") return;
    c.query_pre_attn_scalar = in.number("query_pre_attn_scalar", 1e-6, max_factor);
    // null is no cap; 0 would divide by it.
    c.score_cap = in.number("attn_logit_softcapping", 0, 1e-6, max_factor);
    c.logit_cap = in.number("final_logit_softcapping", 0, 1e-6, max_factor);
    c.qk_norm = c.model_type == "gemma3_text";
}

// The keys that GPT-2 and GPT-J share.
void read_gpt(Reader& in, ModelConfig& c) {
    c.d_model = in.size("n_embd", max_width);
    c.layers = in.size("n_layer", max_layers);
    c.heads = in.size("n_head", max_heads);
    c.context = in.size("n_positions", max_context);
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.d_ff = in.size("n_inner", max_hidden, 4 * c.d_model);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-12, 1);
    c.activation = read_activation(in, "activation_function");
    c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    read_direction(in, c);
    check_division(in, c, "n_head", "n_embd");
}

}  // namespace

void read_gpt2(Reader& in, ModelConfig& c) {
    read_gpt(in, c);
    c.qkv_bias = c.attention_output_bias = true;
    c.scale_by_head_dim = in.flag("scale_attn_weights", true);
    c.scale_by_layer_index = in.flag("scale_attn_by_inverse_layer_idx");
    c.learned_positions = true;
}

void read_llama(Reader& in, ModelConfig& c) {
    const LikeLlama& like = *std::ranges::find(like_llama, c.model_type, &LikeLlama::type);
    const std::string_view type = like.type;
    c.family = like.family;
    read_sizes(in, c);
    c.d_ff = in.size("intermediate_size", max_hidden);
    c.kv_heads = in.size("num_key_value_heads", max_heads, c.heads);
    c.context = in.size("max_position_embeddings", max_context);
    c.head_dim = in.size("head_dim", max_head_dim, c.d_model / c.heads);
    c.norm_epsilon = in.number(like.epsilon_key, 1e-12, 1);
    c.activation = read_activation(in, like.activation_key);
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    read_direction(in, c);
    if (type == "qwen2") {
        c.qkv_bias = true;
    } else if (type == "stablelm") {
        c.qkv_bias = in.flag("use_qkv_bias");
        c.parallel = in.flag("use_parallel_residual");
        c.own_mlp_norm = !c.parallel;
    } else if (type == "phi") {
        c.qkv_bias = c.attention_output_bias = c.mlp_bias = true;
        c.parallel = true;
        c.own_mlp_norm = false;
    } else if (type == "llama" || type == "qwen3" || type == "olmo2" || type.starts_with("gemma")) {
        c.qkv_bias = c.attention_output_bias = in.flag("attention_bias");
        if (type == "llama") c.mlp_bias = in.flag("mlp_bias");
    }
    if (type.starts_with("gemma")) read_gemma(in, c);
    if (type == "qwen3" || type == "olmo2") c.qk_norm = true;
    if (type == "mixtral") {
        c.experts = in.size("num_local_experts", max_heads);
        c.experts_per_token = in.size("num_experts_per_tok", max_heads);
        if (c.experts_per_token > c.experts)
            in.refuse("has num_experts_per_tok = " + std::to_string(c.experts_per_token) +
                      ", which is more than num_local_experts = " + std::to_string(c.experts));
    }
    if (!in.find("head_dim")) check_division(in, c, "num_attention_heads", "hidden_size");
    read_rope(in, c);
    read_windows(in, c);

    if (c.heads % c.kv_heads != 0)
        in.refuse("has num_key_value_heads = " + std::to_string(c.kv_heads) +
                  ", which does not divide num_attention_heads = " + std::to_string(c.heads));
}

void read_gpt_neox(Reader& in, ModelConfig& c) {
    c.family = Family::gpt_neox;
    read_sizes(in, c);
    c.d_ff = in.size("intermediate_size", max_hidden);
    c.context = in.size("max_position_embeddings", max_context);
    c.norm_epsilon = in.number("layer_norm_eps", 1e-12, 1);
    c.activation = read_activation(in, "hidden_act");
    c.qkv_bias = c.attention_output_bias = in.flag("attention_bias");
    c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    c.parallel = in.flag("use_parallel_residual");
    read_direction(in, c);
    check_division(in, c, "num_attention_heads", "hidden_size");
    read_rope(in, c, "rotary_emb_base", "rotary_pct");
}

void read_gptj(Reader& in, ModelConfig& c) {
    read_gpt(in, c);
    c.family = Family::gptj;
    c.parallel = true;
    c.own_mlp_norm = false;
    c.rope_theta = 10'000;
    c.rotary_interleaved = true;
    if (!in.find("rotary_dim"))
        in.refuse(
            "has null as 'rotary_dim', which is not supported; it says how many components of a head turn");
    c.rotary_dim = in.size("rotary_dim", max_head_dim);
    if (c.rotary_dim % 2 != 0 || c.rotary_dim > c.head_dim)
        in.refuse("has rotary_dim = " + std::to_string(c.rotary_dim) +
                  "; it should be even and at most the " + std::to_string(c.head_dim) +
                  " components of a head");
}

void read_falcon(Reader& in, ModelConfig& c) {
    c.family = Family::falcon;
    read_sizes(in, c);
    const bool grouped = in.flag("new_decoder_architecture");
    if (grouped)
        c.kv_heads = in.size("num_kv_heads", max_heads, c.heads);
    else if (in.flag("multi_query"))
        c.kv_heads = 1;
    c.d_ff = in.size("ffn_hidden_size", max_hidden, 4 * c.d_model);
    c.context = in.size("max_position_embeddings", max_context);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-12, 1);
    c.activation = read_activation(in, "activation");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = in.flag("bias");
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    c.parallel = in.flag("parallel_attn") || grouped;
    c.own_mlp_norm = !c.parallel || (grouped && in.size("num_ln_in_parallel_attn", 2, 2) == 2);
    read_direction(in, c);
    check_division(in, c, "num_attention_heads", "hidden_size");
    if (c.heads % c.kv_heads != 0)
        in.refuse("has num_kv_heads = " + std::to_string(c.kv_heads) +
                  ", which does not divide num_attention_heads = " + std::to_string(c.heads));
    read_rope(in, c);
}

void read_opt(Reader& in, ModelConfig& c) {
    c.family = Family::opt;
    read_sizes(in, c);
    c.d_ff = in.size("ffn_dim", max_hidden);
    c.context = in.size("max_position_embeddings", max_context);
    c.norm_epsilon = 1e-5;  // PyTorch's, which no key changes
    c.activation = read_activation(in, "activation_function");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = in.flag("enable_bias");
    c.tie_word_embeddings = in.flag("tie_word_embeddings");
    c.embedding_width = in.size("word_embed_proj_dim", max_width, c.d_model);
    if (c.embedding_width == c.d_model) c.embedding_width = 0;
    c.norms_after = !in.flag("do_layer_norm_before");
    c.learned_positions = true;
    c.first_position = 2;
    read_direction(in, c);
    check_division(in, c, "num_attention_heads", "hidden_size");
}

}  // namespace attn
