// Llama (Touvron et al. 2023, arXiv 2302.13971) and its relatives, Mistral and Qwen2, have rotary positions, RMSNorm,
// a gated MLP, several query heads per key/value head, and matrices stored as [out, in].
#include <array>
#include <cmath>

#include "model/families.hpp"
#include "model/rope_scaling.hpp"

namespace attn {

namespace {

using When = WeightRule::When;

constexpr std::array llama_weights{
    WeightRule{"embed_tokens.weight", WeightAxis::vocabulary, WeightAxis::d_model},
    WeightRule{"layers.*.input_layernorm.weight", WeightAxis::d_model},
    WeightRule{"layers.*.self_attn.q_proj.weight", WeightAxis::q, WeightAxis::d_model},
    WeightRule{"layers.*.self_attn.q_proj.bias", WeightAxis::q, WeightAxis::none, When::qkv_bias},
    WeightRule{"layers.*.self_attn.k_proj.weight", WeightAxis::kv, WeightAxis::d_model},
    WeightRule{"layers.*.self_attn.k_proj.bias", WeightAxis::kv, WeightAxis::none, When::qkv_bias},
    WeightRule{"layers.*.self_attn.v_proj.weight", WeightAxis::kv, WeightAxis::d_model},
    WeightRule{"layers.*.self_attn.v_proj.bias", WeightAxis::kv, WeightAxis::none, When::qkv_bias},
    WeightRule{"layers.*.self_attn.o_proj.weight", WeightAxis::d_model, WeightAxis::q},
    WeightRule{"layers.*.self_attn.o_proj.bias", WeightAxis::d_model, WeightAxis::none,
               When::attention_output_bias},
    WeightRule{"layers.*.post_attention_layernorm.weight", WeightAxis::d_model},
    WeightRule{"layers.*.mlp.gate_proj.weight", WeightAxis::d_ff, WeightAxis::d_model},
    WeightRule{"layers.*.mlp.gate_proj.bias", WeightAxis::d_ff, WeightAxis::none, When::mlp_bias},
    WeightRule{"layers.*.mlp.up_proj.weight", WeightAxis::d_ff, WeightAxis::d_model},
    WeightRule{"layers.*.mlp.up_proj.bias", WeightAxis::d_ff, WeightAxis::none, When::mlp_bias},
    WeightRule{"layers.*.mlp.down_proj.weight", WeightAxis::d_model, WeightAxis::d_ff},
    WeightRule{"layers.*.mlp.down_proj.bias", WeightAxis::d_model, WeightAxis::none, When::mlp_bias},
    WeightRule{"norm.weight", WeightAxis::d_model},
    WeightRule{"lm_head.weight", WeightAxis::vocabulary, WeightAxis::d_model, When::untied},
};

constexpr std::array<std::string_view, 2> llama_buffers{"layers.*.self_attn.rotary_emb.inv_freq",
                                                        "rotary_emb.inv_freq"};

Network assemble_llama(const Model& model) {
    const ModelConfig& config = model.config();
    const auto out_in = WeightView::Layout::out_in;
    Network network{.token_embedding = matrix(model, "embed_tokens.weight", out_in),
                    .position_embedding = {},
                    .rotary = rotary_frequencies(config.head_dim, config.rope_theta, config.rope_scaling),
                    .blocks = {},
                    .final_norm = norm(model, "norm", Norm::Kind::rms),
                    .head = head(model, "embed_tokens")};
    for (Index layer = 0; layer < config.layers; ++layer) {
        const std::string in_layer = "layers." + std::to_string(layer) + ".";
        const std::string attention = in_layer + "self_attn.";
        const std::string mlp = in_layer + "mlp.";
        network.blocks.push_back(
            {.attention_norm = norm(model, in_layer + "input_layernorm", Norm::Kind::rms),
             .qkv = {linear(model, attention + "q_proj", out_in), linear(model, attention + "k_proj", out_in),
                     linear(model, attention + "v_proj", out_in)},
             .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.head_dim))),
             .window = config.windows[static_cast<std::size_t>(layer)],
             .attention_out = linear(model, attention + "o_proj", out_in),
             .mlp_norm = norm(model, in_layer + "post_attention_layernorm", Norm::Kind::rms),
             .gate = linear(model, mlp + "gate_proj", out_in),
             .up = linear(model, mlp + "up_proj", out_in),
             .down = linear(model, mlp + "down_proj", out_in)});
    }
    return network;
}

}  // namespace

const FamilyRules& llama_rules() {
    static constexpr FamilyRules rules{"model.", llama_weights, llama_buffers, assemble_llama};
    return rules;
}

}  // namespace attn
