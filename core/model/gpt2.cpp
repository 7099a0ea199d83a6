// GPT-2 (Radford et al. 2019) has learned positions, LayerNorm before each half of a block, and matrices stored as
// [in, out] ("Conv1D"), with Q, K and V in one of them.
#include <array>
#include <cmath>

#include "model/families.hpp"

namespace attn {

namespace {

using When = WeightRule::When;

constexpr std::array gpt2_weights{
    WeightRule{"wte.weight", WeightAxis::vocabulary, WeightAxis::d_model},
    WeightRule{"wpe.weight", WeightAxis::position, WeightAxis::d_model},
    WeightRule{"h.*.ln_1.weight", WeightAxis::d_model},
    WeightRule{"h.*.ln_1.bias", WeightAxis::d_model},
    WeightRule{"h.*.attn.c_attn.weight", WeightAxis::d_model, WeightAxis::qkv},
    WeightRule{"h.*.attn.c_attn.bias", WeightAxis::qkv},
    WeightRule{"h.*.attn.c_proj.weight", WeightAxis::q, WeightAxis::d_model},
    WeightRule{"h.*.attn.c_proj.bias", WeightAxis::d_model},
    WeightRule{"h.*.ln_2.weight", WeightAxis::d_model},
    WeightRule{"h.*.ln_2.bias", WeightAxis::d_model},
    WeightRule{"h.*.mlp.c_fc.weight", WeightAxis::d_model, WeightAxis::d_ff},
    WeightRule{"h.*.mlp.c_fc.bias", WeightAxis::d_ff},
    WeightRule{"h.*.mlp.c_proj.weight", WeightAxis::d_ff, WeightAxis::d_model},
    WeightRule{"h.*.mlp.c_proj.bias", WeightAxis::d_model},
    WeightRule{"ln_f.weight", WeightAxis::d_model},
    WeightRule{"ln_f.bias", WeightAxis::d_model},
    WeightRule{"lm_head.weight", WeightAxis::vocabulary, WeightAxis::d_model, When::untied},
};

constexpr std::array<std::string_view, 2> gpt2_buffers{"h.*.attn.bias",
                                                       "h.*.attn.masked_bias"};  // the causal mask

Network assemble_gpt2(const Model& model) {
    const ModelConfig& config = model.config();
    const auto conv1d = WeightView::Layout::in_out;
    Network network{.token_embedding = matrix(model, "wte.weight", WeightView::Layout::out_in),
                    .position_embedding = matrix(model, "wpe.weight", WeightView::Layout::out_in),
                    .rotary = {},
                    .blocks = {},
                    .final_norm = norm(model, "ln_f", Norm::Kind::layer),
                    .head = head(model, "wte")};
    for (Index layer = 0; layer < config.layers; ++layer) {
        const std::string h = "h." + std::to_string(layer) + ".";
        double scale = config.scale_by_head_dim ? 1 / std::sqrt(static_cast<double>(config.head_dim)) : 1.0;
        if (config.scale_by_layer_index) scale /= static_cast<double>(layer + 1);
        network.blocks.push_back({.attention_norm = norm(model, h + "ln_1", Norm::Kind::layer),
                                  .qkv = {linear(model, h + "attn.c_attn", conv1d)},
                                  .scale = static_cast<float>(scale),
                                  .window = 0,
                                  .attention_out = linear(model, h + "attn.c_proj", conv1d),
                                  .mlp_norm = norm(model, h + "ln_2", Norm::Kind::layer),
                                  .gate = {},
                                  .up = linear(model, h + "mlp.c_fc", conv1d),
                                  .down = linear(model, h + "mlp.c_proj", conv1d)});
    }
    return network;
}

}  // namespace

const FamilyRules& gpt2_rules() {
    static constexpr FamilyRules rules{"transformer.", gpt2_weights, gpt2_buffers, assemble_gpt2};
    return rules;
}

}  // namespace attn
