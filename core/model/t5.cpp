// T5 and T5 v1.1 (Raffel et al. 2020, arXiv 1910.10683): an encoder and a decoder that share the embedding,
// with RMSNorm, scores that are not divided, and biases for distances, of which the first block's serve all.
#include <array>

#include "model/conditions.hpp"
#include "model/families.hpp"

namespace attn {

namespace {

constexpr std::array t5_encoder_weights{
    WeightRule{Part::q, "encoder.block.*.layer.0.SelfAttention.q"},
    WeightRule{Part::k, "encoder.block.*.layer.0.SelfAttention.k"},
    WeightRule{Part::v, "encoder.block.*.layer.0.SelfAttention.v"},
    WeightRule{Part::attention_out, "encoder.block.*.layer.0.SelfAttention.o"},
    WeightRule{Part::attention_norm, "encoder.block.*.layer.0.layer_norm"},
    WeightRule{Part::relative_bias, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    WeightRule{Part::gate, "encoder.block.*.layer.1.DenseReluDense.wi_0", never, with_gate},
    WeightRule{Part::up, "encoder.block.*.layer.1.DenseReluDense.wi_1", never, with_gate},
    WeightRule{Part::up, "encoder.block.*.layer.1.DenseReluDense.wi", never, without_gate},
    WeightRule{Part::down, "encoder.block.*.layer.1.DenseReluDense.wo"},
    WeightRule{Part::mlp_norm, "encoder.block.*.layer.1.layer_norm"},
    WeightRule{Part::final_norm, "encoder.final_layer_norm"},
};
constexpr std::array t5_decoder_weights{
    WeightRule{Part::token_embedding, "shared"},
    WeightRule{Part::q, "decoder.block.*.layer.0.SelfAttention.q"},
    WeightRule{Part::k, "decoder.block.*.layer.0.SelfAttention.k"},
    WeightRule{Part::v, "decoder.block.*.layer.0.SelfAttention.v"},
    WeightRule{Part::attention_out, "decoder.block.*.layer.0.SelfAttention.o"},
    WeightRule{Part::attention_norm, "decoder.block.*.layer.0.layer_norm"},
    WeightRule{Part::relative_bias, "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    WeightRule{Part::cross_q, "decoder.block.*.layer.1.EncDecAttention.q"},
    WeightRule{Part::cross_k, "decoder.block.*.layer.1.EncDecAttention.k"},
    WeightRule{Part::cross_v, "decoder.block.*.layer.1.EncDecAttention.v"},
    WeightRule{Part::cross_out, "decoder.block.*.layer.1.EncDecAttention.o"},
    WeightRule{Part::cross_norm, "decoder.block.*.layer.1.layer_norm"},
    WeightRule{Part::gate, "decoder.block.*.layer.2.DenseReluDense.wi_0", never, with_gate},
    WeightRule{Part::up, "decoder.block.*.layer.2.DenseReluDense.wi_1", never, with_gate},
    WeightRule{Part::up, "decoder.block.*.layer.2.DenseReluDense.wi", never, without_gate},
    WeightRule{Part::down, "decoder.block.*.layer.2.DenseReluDense.wo"},
    WeightRule{Part::mlp_norm, "decoder.block.*.layer.2.layer_norm"},
    WeightRule{Part::final_norm, "decoder.final_layer_norm"},
    WeightRule{Part::head, "lm_head"},
};
// v1.0's files hold biases that cross-attention does not add, and some the shared embedding once more for
// each half.
constexpr std::array<std::string_view, 3> t5_buffers{
    "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
constexpr std::span<const std::string_view> t5_embedding_names = std::span(t5_buffers).first(2);

}  // namespace

const FamilyRules& t5_rules() {
    static constexpr FamilyRules rules{.title = "T5",
                                       .prefixes = {},
                                       .weights = t5_decoder_weights,
                                       .buffers = t5_buffers,
                                       .encoder_weights = t5_encoder_weights,
                                       .embedding_names = t5_embedding_names};
    return rules;
}

}  // namespace attn
