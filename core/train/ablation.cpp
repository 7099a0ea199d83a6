#include "train/ablation.hpp"

#include <algorithm>

namespace attn {

void zero_output_weights(const ModelConfig& config, const ParameterLayout& layout,
                         std::span<const HeadIndex> heads, std::span<float> parameters) {
    const Index dim = config.head_dim, inner = config.heads * dim, d = config.d_model;
    for (const auto& [layer, head] : heads) {
        const std::string number = std::to_string(layer);
        const bool gpt2 = config.family == Family::gpt2;  // [inner, d_model]; llama: [d_model, inner]
        const auto* w_o = layout.find(gpt2 ? "h." + number + ".attn.c_proj.weight"
                                           : "layers." + number + ".self_attn.o_proj.weight");
        float* const weights = parameters.data() + w_o->offset;
        if (gpt2)
            std::fill_n(weights + head * dim * d, dim * d, 0.0f);
        else
            for (Index row = 0; row < d; ++row) std::fill_n(weights + row * inner + head * dim, dim, 0.0f);
    }
}

}  // namespace attn
