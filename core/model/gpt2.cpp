// GPT-2 (Radford et al. 2019) has learned positions, LayerNorm before each half of a block, and matrices
// stored as [in, out] ("Conv1D"), with Q, K and V in one of them.
#include <array>

#include "model/families.hpp"

namespace attn {

namespace {

constexpr std::array gpt2_weights{
    WeightRule{Part::token_embedding, "wte"},
    WeightRule{Part::position_embedding, "wpe"},
    WeightRule{Part::attention_norm, "h.*.ln_1", always},
    WeightRule{Part::qkv, "h.*.attn.c_attn", always},
    WeightRule{Part::attention_out, "h.*.attn.c_proj", always},
    WeightRule{Part::mlp_norm, "h.*.ln_2", always},
    WeightRule{Part::up, "h.*.mlp.c_fc", always},
    WeightRule{Part::down, "h.*.mlp.c_proj", always},
    WeightRule{Part::final_norm, "ln_f", always},
    WeightRule{Part::head, "lm_head"},
};

constexpr std::array<std::string_view, 1> gpt2_prefixes{"transformer."};
constexpr std::array<std::string_view, 2> gpt2_buffers{"h.*.attn.bias",
                                                       "h.*.attn.masked_bias"};  // the causal mask

}  // namespace

const FamilyRules& gpt2_rules() {
    static constexpr FamilyRules rules{"GPT-2",      gpt2_prefixes,     gpt2_weights,
                                       gpt2_buffers, Norm::Kind::layer, WeightView::Layout::in_out};
    return rules;
}

}  // namespace attn
