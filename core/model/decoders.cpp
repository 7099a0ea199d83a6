// More families that read from left to right, with LayerNorm and an MLP without a gate.
#include <array>

#include "model/conditions.hpp"
#include "model/families.hpp"

namespace attn {

namespace {

// Phi-1 and Phi-2 (arXiv 2309.05463): both halves of a block read the same normalised residual.
constexpr std::array phi_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm", always},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", always},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", always},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", always},
    WeightRule{Part::attention_out, "layers.*.self_attn.dense", always},
    WeightRule{Part::up, "layers.*.mlp.fc1", always},
    WeightRule{Part::down, "layers.*.mlp.fc2", always},
    WeightRule{Part::final_norm, "final_layernorm", always},
    WeightRule{Part::head, "lm_head", always},
};
constexpr std::array<std::string_view, 1> phi_prefixes{"model."};
constexpr std::array<std::string_view, 2> phi_buffers{"layers.*.self_attn.rotary_emb.inv_freq",
                                                      "rotary_emb.inv_freq"};

// GPT-NeoX (arXiv 2204.06745) and Pythia (arXiv 2304.01373).
constexpr std::array gpt_neox_weights{
    WeightRule{Part::token_embedding, "embed_in"},
    WeightRule{Part::attention_norm, "layers.*.input_layernorm", always},
    WeightRule{Part::qkv_by_group, "layers.*.attention.query_key_value", with_qkv_bias},
    WeightRule{Part::attention_out, "layers.*.attention.dense", with_out_bias},
    WeightRule{Part::mlp_norm, "layers.*.post_attention_layernorm", always},
    WeightRule{Part::up, "layers.*.mlp.dense_h_to_4h", always},
    WeightRule{Part::down, "layers.*.mlp.dense_4h_to_h", always},
    WeightRule{Part::final_norm, "final_layer_norm", always},
    WeightRule{Part::head, "embed_out"},
};
constexpr std::array<std::string_view, 1> gpt_neox_prefixes{"gpt_neox."};
constexpr std::array<std::string_view, 4> gpt_neox_buffers{
    "layers.*.attention.bias", "layers.*.attention.masked_bias", "layers.*.attention.rotary_emb.inv_freq",
    "rotary_emb.inv_freq"};

// GPT-J (Wang & Komatsuzaki 2021).
constexpr std::array gptj_weights{
    WeightRule{Part::token_embedding, "wte"},      WeightRule{Part::attention_norm, "h.*.ln_1", always},
    WeightRule{Part::q, "h.*.attn.q_proj"},        WeightRule{Part::k, "h.*.attn.k_proj"},
    WeightRule{Part::v, "h.*.attn.v_proj"},        WeightRule{Part::attention_out, "h.*.attn.out_proj"},
    WeightRule{Part::up, "h.*.mlp.fc_in", always}, WeightRule{Part::down, "h.*.mlp.fc_out", always},
    WeightRule{Part::final_norm, "ln_f", always},  WeightRule{Part::head, "lm_head", always},
};
constexpr std::array<std::string_view, 1> transformer_prefixes{"transformer."};
constexpr std::array<std::string_view, 3> gptj_buffers{"h.*.attn.bias", "h.*.attn.masked_bias",
                                                       "h.*.attn.embed_positions"};

// Falcon (arXiv 2311.16867): the larger models have a norm for each half and name them otherwise.
bool names_both_norms(const ModelConfig& c) { return c.parallel && c.own_mlp_norm; }
bool names_one_norm(const ModelConfig& c) { return !names_both_norms(c); }
bool has_sequential_halves(const ModelConfig& c) { return !c.parallel; }
constexpr std::array falcon_weights{
    WeightRule{Part::token_embedding, "word_embeddings"},
    WeightRule{Part::attention_norm, "h.*.input_layernorm", always, names_one_norm},
    WeightRule{Part::attention_norm, "h.*.ln_attn", always, names_both_norms},
    WeightRule{Part::qkv_by_group, "h.*.self_attention.query_key_value", with_qkv_bias},
    WeightRule{Part::attention_out, "h.*.self_attention.dense", with_out_bias},
    WeightRule{Part::mlp_norm, "h.*.post_attention_layernorm", always, has_sequential_halves},
    WeightRule{Part::mlp_norm, "h.*.ln_mlp", always, names_both_norms},
    WeightRule{Part::up, "h.*.mlp.dense_h_to_4h", with_mlp_bias},
    WeightRule{Part::down, "h.*.mlp.dense_4h_to_h", with_mlp_bias},
    WeightRule{Part::final_norm, "ln_f", always},
    WeightRule{Part::head, "lm_head"},
};
constexpr std::array<std::string_view, 1> falcon_buffers{"h.*.self_attention.rotary_emb.inv_freq"};

// OPT (arXiv 2205.01068); the one of 350 million parameters has its norms after each half and a narrower
// embedding.
constexpr std::array opt_weights{
    WeightRule{Part::token_embedding, "embed_tokens"},
    WeightRule{Part::project_in, "project_in", never, with_projections},
    WeightRule{Part::position_embedding, "embed_positions"},
    WeightRule{Part::attention_norm, "layers.*.self_attn_layer_norm", always},
    WeightRule{Part::q, "layers.*.self_attn.q_proj", with_qkv_bias},
    WeightRule{Part::k, "layers.*.self_attn.k_proj", with_qkv_bias},
    WeightRule{Part::v, "layers.*.self_attn.v_proj", with_qkv_bias},
    WeightRule{Part::attention_out, "layers.*.self_attn.out_proj", with_out_bias},
    WeightRule{Part::mlp_norm, "layers.*.final_layer_norm", always},
    WeightRule{Part::up, "layers.*.fc1", with_mlp_bias},
    WeightRule{Part::down, "layers.*.fc2", with_mlp_bias},
    WeightRule{Part::final_norm, "final_layer_norm", always, with_norms_before},
    WeightRule{Part::project_out, "project_out", never, with_projections},
    WeightRule{Part::head, "lm_head"},
};
constexpr std::array<std::string_view, 2> opt_prefixes{"model.decoder.", "decoder."};

}  // namespace

const FamilyRules& phi_rules() {
    static constexpr FamilyRules rules{"Phi", phi_prefixes, phi_weights, phi_buffers, Norm::Kind::layer};
    return rules;
}
const FamilyRules& gpt_neox_rules() {
    static constexpr FamilyRules rules{"GPT-NeoX", gpt_neox_prefixes, gpt_neox_weights, gpt_neox_buffers,
                                       Norm::Kind::layer};
    return rules;
}
const FamilyRules& gptj_rules() {
    static constexpr FamilyRules rules{"GPT-J", transformer_prefixes, gptj_weights, gptj_buffers,
                                       Norm::Kind::layer};
    return rules;
}
const FamilyRules& falcon_rules() {
    static constexpr FamilyRules rules{"Falcon", transformer_prefixes, falcon_weights, falcon_buffers,
                                       Norm::Kind::layer};
    return rules;
}
const FamilyRules& opt_rules() {
    static constexpr FamilyRules rules{"OPT", opt_prefixes, opt_weights, {}, Norm::Kind::layer};
    return rules;
}

}  // namespace attn
