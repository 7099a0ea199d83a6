#include "train/ablation.hpp"

#include <algorithm>

#include "model/families.hpp"

namespace attn {

void zero_output_weights(const ModelConfig& config, const ParameterLayout& layout,
                         std::span<const HeadIndex> heads, std::span<float> parameters) {
    const Index dim = config.head_dim, inner = config.heads * dim, d = config.d_model;
    const FamilyRules& rules = family_rules(config.family);
    const auto out = std::ranges::find(rules.weights, Part::attention_out, &WeightRule::part);
    for (const auto& [layer, head] : heads) {
        const auto* w_o = layout.find(name_of(*out, layer) + ".weight");
        float* const weights = parameters.data() + w_o->offset;
        if (rules.layout == WeightView::Layout::in_out)  // [inner, d_model]; else [d_model, inner]
            std::fill_n(weights + head * dim * d, dim * d, 0.0f);
        else
            for (Index row = 0; row < d; ++row) std::fill_n(weights + row * inner + head * dim, dim, 0.0f);
    }
}

}  // namespace attn
