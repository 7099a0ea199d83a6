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

void refuse_if(Reader& in, const char* key, bool absent, const std::string& what) {
    if (in.flag(key, absent)) in.refuse(what + " (" + key + "), which is not supported");
}

void read_sizes(Reader& in, ModelConfig& c) {
    c.d_model = in.size("hidden_size", max_width);
    c.layers = in.size("num_hidden_layers", max_layers);
    c.heads = in.size("num_attention_heads", max_heads);
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
}

// Of the families that share most of Llama's keys: where they lie, and what holds where the file has no such key.
struct LikeLlama {
    std::string_view type;
    Family family;
    Index kv_heads = 0;  // 0: all heads
    Index head_dim = 0;  // 0: d_model / heads
    double epsilon = 1e-6;
    double theta = 10'000;
    const char* epsilon_key = "rms_norm_eps";
    const char* activation_key = "hidden_act";
    std::string_view activation = "silu";
    bool tied = false;
    double rotary_share = 1;
};
constexpr const char* layer_eps = "layer_norm_eps";
constexpr std::array like_llama{
    LikeLlama{"llama", Family::llama},
    LikeLlama{"mistral", Family::llama, 8},
    LikeLlama{"qwen2", Family::llama, 32},
    LikeLlama{"qwen3", Family::llama, 32, 128},
    LikeLlama{"mixtral", Family::mixtral, 8, 0, 1e-5, 1e6},
    LikeLlama{"gemma", Family::llama, 16, 256, 1e-6, 10'000, "rms_norm_eps", "hidden_activation",
              "gelu_pytorch_tanh", true},
    LikeLlama{"gemma2", Family::gemma2, 4, 256, 1e-6, 10'000, "rms_norm_eps", "hidden_activation",
              "gelu_pytorch_tanh", true},
    LikeLlama{"gemma3_text", Family::gemma2, 4, 256, 1e-6, 1e6, "rms_norm_eps", "hidden_activation",
              "gelu_pytorch_tanh", true},
    LikeLlama{"phi3", Family::phi3, 0, 0, 1e-5},
    LikeLlama{"olmo2", Family::olmo2, 0, 0, 1e-5},
    LikeLlama{"stablelm", Family::stablelm, 32, 0, 1e-5, 10'000, layer_eps, "hidden_act", "silu", false,
              0.25},
    LikeLlama{"phi", Family::phi, 0, 0, 1e-5, 10'000, layer_eps, "hidden_act", "gelu_new", false, 0.5},
};

void read_gemma(Reader& in, ModelConfig& c) {
    c.norm_adds_one = true;
    c.embedding_scale = std::sqrt(static_cast<double>(c.d_model));
    refuse_if(in, "use_bidirectional_attention", false, "asks for attention in both directions");
    if (c.model_type == "gemma") return;
    const bool second = c.model_type == "gemma2";
    c.query_pre_attn_scalar = in.number("query_pre_attn_scalar", 256, 1e-6, max_factor);
    // null is no cap; 0 would divide by it.
    const auto cap = [&](const char* key, double absent) {
        return in.number(key, in.has(key) ? 0 : absent, 1e-6, max_factor);
    };
    c.score_cap = cap("attn_logit_softcapping", second ? 50 : 0);
    c.logit_cap = cap("final_logit_softcapping", second ? 30 : 0);
    c.qk_norm = !second;
}

}  // namespace

void read_gpt2(Reader& in, ModelConfig& c) {
    c.d_model = in.size("n_embd", max_width);
    c.layers = in.size("n_layer", max_layers);
    c.heads = in.size("n_head", max_heads);
    c.context = in.size("n_positions", max_context);
    c.kv_heads = c.heads;
    c.head_dim = c.d_model / c.heads;
    c.d_ff = in.size("n_inner", max_hidden, 4 * c.d_model);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-5, 1e-12, 1);
    c.activation = read_activation(in, "activation_function", "gelu_new");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings", true);
    c.scale_by_head_dim = in.flag("scale_attn_weights", true);
    c.scale_by_layer_index = in.flag("scale_attn_by_inverse_layer_idx", false);
    c.learned_positions = true;
    c.windows.assign(static_cast<std::size_t>(c.layers), 0);
    check_division(in, c, "n_head", "n_embd");
    refuse_if(in, "add_cross_attention", false, "asks for cross attention");
}

void read_llama(Reader& in, ModelConfig& c) {
    const LikeLlama& like = *std::ranges::find(like_llama, c.model_type, &LikeLlama::type);
    const std::string_view type = like.type;
    c.family = like.family;
    read_sizes(in, c);
    c.d_ff = in.size("intermediate_size", max_hidden);
    c.kv_heads = in.size("num_key_value_heads", max_heads,
                         like.kv_heads == 0 || in.has("num_key_value_heads") ? c.heads : like.kv_heads);
    c.context = in.size("max_position_embeddings", max_context);
    c.head_dim = in.size("head_dim", max_head_dim,
                         like.head_dim == 0 || in.has("head_dim") ? c.d_model / c.heads : like.head_dim);
    c.norm_epsilon = in.number(like.epsilon_key, like.epsilon, 1e-12, 1);
    c.activation = read_activation(in, like.activation_key, like.activation);
    c.tie_word_embeddings = in.flag("tie_word_embeddings", like.tied);
    if (type == "qwen2") {
        c.qkv_bias = true;
    } else if (type == "stablelm") {
        c.qkv_bias = in.flag("use_qkv_bias", false);
        c.parallel = in.flag("use_parallel_residual", false);
        c.own_mlp_norm = !c.parallel;
    } else if (type == "phi") {
        c.qkv_bias = c.attention_output_bias = c.mlp_bias = true;
        c.parallel = true;
        c.own_mlp_norm = false;
    } else if (type == "llama" || type == "qwen3" || type == "olmo2" || type.starts_with("gemma")) {
        c.qkv_bias = c.attention_output_bias = in.flag("attention_bias", false);
        if (type == "llama") c.mlp_bias = in.flag("mlp_bias", false);
    }
    if (type.starts_with("gemma")) read_gemma(in, c);
    if (type == "qwen3" || type == "olmo2") c.qk_norm = true;
    if (type == "stablelm" || type == "phi")
        refuse_if(in, "qk_layernorm", false, "normalises queries and keys");
    if (type == "mixtral") {
        c.experts = in.size("num_local_experts", max_heads, 8);
        c.experts_per_token = in.size("num_experts_per_tok", max_heads, 2);
        if (c.experts_per_token > c.experts)
            in.refuse("has num_experts_per_tok = " + std::to_string(c.experts_per_token) +
                      ", which is more than num_local_experts = " + std::to_string(c.experts));
    }
    if (!in.find("head_dim") && (like.head_dim == 0 || in.has("head_dim")))
        check_division(in, c, "num_attention_heads", "hidden_size");
    read_rope(in, c, like.theta, like.rotary_share);
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
    c.norm_epsilon = in.number("layer_norm_eps", 1e-5, 1e-12, 1);
    c.activation = read_activation(in, "hidden_act", "gelu");
    c.qkv_bias = c.attention_output_bias = in.flag("attention_bias", true);
    c.mlp_bias = true;
    c.tie_word_embeddings = in.flag("tie_word_embeddings", false);
    c.parallel = in.flag("use_parallel_residual", true);
    check_division(in, c, "num_attention_heads", "hidden_size");
    read_rope(in, c, 10'000, 0.25, "rotary_emb_base", "rotary_pct");
}

void read_gptj(Reader& in, ModelConfig& c) {
    read_gpt2(in, c);
    c.family = Family::gptj;
    c.learned_positions = false;
    c.qkv_bias = c.attention_output_bias = false;
    c.parallel = true;
    c.own_mlp_norm = false;
    c.scale_by_head_dim = true;  // as transformers' GPTJAttention has it, whatever the file says
    c.scale_by_layer_index = false;
    c.tie_word_embeddings = in.flag("tie_word_embeddings", false);
    c.rope_theta = 10'000;
    c.rotary_interleaved = true;
    if (in.has("rotary_dim") && !in.find("rotary_dim"))
        in.refuse(
            "has null as 'rotary_dim', which is not supported; it says how many components of a head turn");
    c.rotary_dim = in.size("rotary_dim", max_head_dim, 64);
    if (c.rotary_dim % 2 != 0 || c.rotary_dim > c.head_dim)
        in.refuse("has rotary_dim = " + std::to_string(c.rotary_dim) +
                  "; it should be even and at most the " + std::to_string(c.head_dim) +
                  " components of a head");
}

void read_falcon(Reader& in, ModelConfig& c) {
    c.family = Family::falcon;
    read_sizes(in, c);
    const bool grouped = in.flag("new_decoder_architecture", false);
    if (grouped)
        c.kv_heads = in.size("num_kv_heads", max_heads, c.heads);
    else if (in.flag("multi_query", true))
        c.kv_heads = 1;
    c.d_ff = in.size("ffn_hidden_size", max_hidden, 4 * c.d_model);
    c.context = in.size("max_position_embeddings", max_context, 2048);
    c.norm_epsilon = in.number("layer_norm_epsilon", 1e-5, 1e-12, 1);
    c.activation = read_activation(in, "activation", "gelu");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = in.flag("bias", false);
    c.tie_word_embeddings = in.flag("tie_word_embeddings", true);
    c.parallel = in.flag("parallel_attn", true) || grouped;
    c.own_mlp_norm = !c.parallel || (grouped && in.size("num_ln_in_parallel_attn", 2, 2) == 2);
    refuse_if(in, "alibi", false, "asks for ALiBi");
    refuse_if(in, "apply_residual_connection_post_layernorm", false,
              "takes the residual from behind the norm");
    check_division(in, c, "num_attention_heads", "hidden_size");
    if (c.heads % c.kv_heads != 0)
        in.refuse("has num_kv_heads = " + std::to_string(c.kv_heads) +
                  ", which does not divide num_attention_heads = " + std::to_string(c.heads));
    read_rope(in, c, 10'000);
}

void read_opt(Reader& in, ModelConfig& c) {
    c.family = Family::opt;
    read_sizes(in, c);
    c.d_ff = in.size("ffn_dim", max_hidden);
    c.context = in.size("max_position_embeddings", max_context, 2048);
    c.norm_epsilon = 1e-5;  // PyTorch's, which no key changes
    c.activation = read_activation(in, "activation_function", "relu");
    c.qkv_bias = c.attention_output_bias = c.mlp_bias = in.flag("enable_bias", true);
    c.tie_word_embeddings = in.flag("tie_word_embeddings", true);
    c.embedding_width = in.size("word_embed_proj_dim", max_width, c.d_model);
    if (c.embedding_width == c.d_model) c.embedding_width = 0;
    c.norms_after = !in.flag("do_layer_norm_before", true);
    c.learned_positions = true;
    c.first_position = 2;
    refuse_if(in, "_remove_final_layer_norm", false,
              "has no last norm though it has norms before the halves");
    if (!in.flag("layer_norm_elementwise_affine", true))
        in.refuse("has norms without gains (layer_norm_elementwise_affine), which are not supported");
    check_division(in, c, "num_attention_heads", "hidden_size");
}

}  // namespace attn
