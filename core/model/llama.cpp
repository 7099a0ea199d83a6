// Llama (Touvron et al. 2023, arXiv 2302.13971) and its relatives have rotary positions, norms without a
// mean, a gated MLP, several query heads per key/value head, and matrices stored as [out, in].
#include <array>

#include "model/conditions.hpp"
#include "model/families.hpp"

namespace attn {

namespace {

// Also Mistral and Qwen2; Qwen3 (arXiv 2505.09388) normalises each head's q and k; Gemma (arXiv 2403.08295)
// has norms that multiply by 1 + weight.
constexpr std::array llama_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm"},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", with_qkv_bias},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", with_qkv_bias},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", with_qkv_bias},
    WeightRule{Part::head_q_norm, "layers.*.self_attn.q_norm", never, with_qk_norm},
    WeightRule{Part::head_k_norm, "layers.*.self_attn.k_norm", never, with_qk_norm},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj", with_out_bias},
    WeightRule{Part::mlp_norm, "layers.*.post_attention_layernorm"},
    WeightRule{Part::gate, "layers.*.mlp.gate_proj", with_mlp_bias},
    WeightRule{Part::up, "layers.*.mlp.up_proj", with_mlp_bias},
    WeightRule{Part::down, "layers.*.mlp.down_proj", with_mlp_bias},
    WeightRule{Part::final_norm, "norm"},
    WeightRule{Part::head, "lm_head"},
};

// Mixtral (Jiang et al. 2024, arXiv 2401.04088): several MLPs, of which each token takes two.
constexpr std::array mixtral_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm"},
    WeightRule{Part::q, "layers.*.self_attn.q_proj"},
    WeightRule{Part::k, "layers.*.self_attn.k_proj"},
    WeightRule{Part::v, "layers.*.self_attn.v_proj"},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj"},
    WeightRule{Part::mlp_norm, "layers.*.post_attention_layernorm"},
    WeightRule{Part::router, "layers.*.block_sparse_moe.gate"},
    WeightRule{Part::gate, "layers.*.block_sparse_moe.experts.*.w1"},
    WeightRule{Part::up, "layers.*.block_sparse_moe.experts.*.w3"},
    WeightRule{Part::down, "layers.*.block_sparse_moe.experts.*.w2"},
    WeightRule{Part::final_norm, "norm"},
    WeightRule{Part::head, "lm_head"},
};

// Gemma 2 (arXiv 2408.00118) and Gemma 3 (arXiv 2503.19786): norms before and after each half.
constexpr std::array gemma2_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm"},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", with_qkv_bias},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", with_qkv_bias},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", with_qkv_bias},
    WeightRule{Part::head_q_norm, "layers.*.self_attn.q_norm", never, with_qk_norm},
    WeightRule{Part::head_k_norm, "layers.*.self_attn.k_norm", never, with_qk_norm},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj", with_out_bias},
    WeightRule{Part::attention_post_sublayer_norm, "layers.*.post_attention_layernorm"},
    WeightRule{Part::mlp_norm, "layers.*.pre_feedforward_layernorm"},
    WeightRule{Part::gate, "layers.*.mlp.gate_proj"},
    WeightRule{Part::up, "layers.*.mlp.up_proj"},
    WeightRule{Part::down, "layers.*.mlp.down_proj"},
    WeightRule{Part::mlp_post_sublayer_norm, "layers.*.post_feedforward_layernorm"},
    WeightRule{Part::final_norm, "norm"},
    WeightRule{Part::head, "lm_head"},
};

// OLMo 2 (arXiv 2501.00656): norms after each half alone, and over all heads' queries and keys.
constexpr std::array olmo2_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", with_qkv_bias},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", with_qkv_bias},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", with_qkv_bias},
    WeightRule{Part::q_norm, "layers.*.self_attn.q_norm"},
    WeightRule{Part::k_norm, "layers.*.self_attn.k_norm"},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj", with_out_bias},
    WeightRule{Part::attention_post_sublayer_norm, "layers.*.post_attention_layernorm"},
    WeightRule{Part::gate, "layers.*.mlp.gate_proj"},
    WeightRule{Part::up, "layers.*.mlp.up_proj"},
    WeightRule{Part::down, "layers.*.mlp.down_proj"},
    WeightRule{Part::mlp_post_sublayer_norm, "layers.*.post_feedforward_layernorm"},
    WeightRule{Part::final_norm, "norm"},
    WeightRule{Part::head, "lm_head"},
};

// Phi-3 (arXiv 2404.14219).
constexpr std::array phi3_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm"},
    WeightRule{Part::qkv, "layers.*.self_attn.qkv_proj"},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj"},
    WeightRule{Part::mlp_norm, "layers.*.post_attention_layernorm"},
    WeightRule{Part::gate_up, "layers.*.mlp.gate_up_proj"},
    WeightRule{Part::down, "layers.*.mlp.down_proj"},
    WeightRule{Part::final_norm, "norm"},
    WeightRule{Part::head, "lm_head"},
};

// StableLM (arXiv 2402.17834): LayerNorm.
constexpr std::array stablelm_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm", always},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", with_qkv_bias},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", with_qkv_bias},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", with_qkv_bias},
    WeightRule{Part::attention_out, "layers.*.self_attn.o_proj"},
    WeightRule{Part::mlp_norm, "layers.*.post_attention_layernorm", always, with_mlp_norm},
    WeightRule{Part::gate, "layers.*.mlp.gate_proj"},
    WeightRule{Part::up, "layers.*.mlp.up_proj"},
    WeightRule{Part::down, "layers.*.mlp.down_proj"},
    WeightRule{Part::final_norm, "norm", always},
    WeightRule{Part::head, "lm_head"},
};

constexpr std::array<std::string_view, 1> llama_prefixes{"model."};
constexpr std::array<std::string_view, 2> llama_buffers{"layers.*.self_attn.rotary_emb.inv_freq",
                                                        "rotary_emb.inv_freq"};

}  // namespace

const FamilyRules& llama_rules() {
    static constexpr FamilyRules rules{"Llama", llama_prefixes, llama_weights, llama_buffers};
    return rules;
}
const FamilyRules& mixtral_rules() {
    static constexpr FamilyRules rules{"Mixtral", llama_prefixes, mixtral_weights, llama_buffers};
    return rules;
}
const FamilyRules& gemma2_rules() {
    static constexpr FamilyRules rules{"Gemma 2", llama_prefixes, gemma2_weights, llama_buffers};
    return rules;
}
const FamilyRules& olmo2_rules() {
    static constexpr FamilyRules rules{"OLMo 2", llama_prefixes, olmo2_weights, llama_buffers};
    return rules;
}
const FamilyRules& phi3_rules() {
    static constexpr FamilyRules rules{"Phi-3", llama_prefixes, phi3_weights, llama_buffers};
    return rules;
}
const FamilyRules& stablelm_rules() {
    static constexpr FamilyRules rules{"StableLM", llama_prefixes, stablelm_weights, llama_buffers,
                                       Norm::Kind::layer};
    return rules;
}

}  // namespace attn
