// Families that read in both directions and fill in masked tokens: BERT (Devlin et al. 2019, arXiv
// 1810.04805), RoBERTa (Liu et al. 2019, arXiv 1907.11692) and DistilBERT (Sanh et al. 2019, arXiv
// 1910.01108).
#include <array>

#include "model/conditions.hpp"
#include "model/families.hpp"

namespace attn {

namespace {

constexpr std::array bert_weights{
    WeightRule{Part::token_embedding, "embeddings.word_embeddings"},
    WeightRule{Part::position_embedding, "embeddings.position_embeddings"},
    WeightRule{Part::segment_embedding, "embeddings.token_type_embeddings"},
    WeightRule{Part::embedding_norm, "embeddings.LayerNorm", always},
    WeightRule{Part::q, "encoder.layer.*.attention.self.query", always},
    WeightRule{Part::k, "encoder.layer.*.attention.self.key", always},
    WeightRule{Part::v, "encoder.layer.*.attention.self.value", always},
    WeightRule{Part::attention_out, "encoder.layer.*.attention.output.dense", always},
    WeightRule{Part::attention_norm, "encoder.layer.*.attention.output.LayerNorm", always},
    WeightRule{Part::up, "encoder.layer.*.intermediate.dense", always},
    WeightRule{Part::down, "encoder.layer.*.output.dense", always},
    WeightRule{Part::mlp_norm, "encoder.layer.*.output.LayerNorm", always},
    WeightRule{Part::head_dense, "cls.predictions.transform.dense", always},
    WeightRule{Part::head_norm, "cls.predictions.transform.LayerNorm", always},
    WeightRule{Part::head, "cls.predictions.decoder"},
    WeightRule{Part::head_bias, "cls.predictions"},
};
constexpr std::array<std::string_view, 1> bert_prefixes{"bert."};
constexpr std::array<std::string_view, 6> bert_buffers{
    "embeddings.position_ids",      "pooler.dense.weight",         "pooler.dense.bias",
    "cls.predictions.decoder.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias"};

constexpr std::array roberta_weights{
    WeightRule{Part::token_embedding, "embeddings.word_embeddings"},
    WeightRule{Part::position_embedding, "embeddings.position_embeddings"},
    WeightRule{Part::segment_embedding, "embeddings.token_type_embeddings"},
    WeightRule{Part::embedding_norm, "embeddings.LayerNorm", always},
    WeightRule{Part::q, "encoder.layer.*.attention.self.query", always},
    WeightRule{Part::k, "encoder.layer.*.attention.self.key", always},
    WeightRule{Part::v, "encoder.layer.*.attention.self.value", always},
    WeightRule{Part::attention_out, "encoder.layer.*.attention.output.dense", always},
    WeightRule{Part::attention_norm, "encoder.layer.*.attention.output.LayerNorm", always},
    WeightRule{Part::up, "encoder.layer.*.intermediate.dense", always},
    WeightRule{Part::down, "encoder.layer.*.output.dense", always},
    WeightRule{Part::mlp_norm, "encoder.layer.*.output.LayerNorm", always},
    WeightRule{Part::head_dense, "lm_head.dense", always},
    WeightRule{Part::head_norm, "lm_head.layer_norm", always},
    WeightRule{Part::head, "lm_head.decoder"},
    WeightRule{Part::head_bias, "lm_head"},
};
constexpr std::array<std::string_view, 1> roberta_prefixes{"roberta."};
constexpr std::array<std::string_view, 4> roberta_buffers{"embeddings.position_ids", "pooler.dense.weight",
                                                          "pooler.dense.bias", "lm_head.decoder.bias"};

constexpr std::array distilbert_weights{
    WeightRule{Part::token_embedding, "embeddings.word_embeddings"},
    WeightRule{Part::position_embedding, "embeddings.position_embeddings"},
    WeightRule{Part::embedding_norm, "embeddings.LayerNorm", always},
    WeightRule{Part::q, "transformer.layer.*.attention.q_lin", always},
    WeightRule{Part::k, "transformer.layer.*.attention.k_lin", always},
    WeightRule{Part::v, "transformer.layer.*.attention.v_lin", always},
    WeightRule{Part::attention_out, "transformer.layer.*.attention.out_lin", always},
    WeightRule{Part::attention_norm, "transformer.layer.*.sa_layer_norm", always},
    WeightRule{Part::up, "transformer.layer.*.ffn.lin1", always},
    WeightRule{Part::down, "transformer.layer.*.ffn.lin2", always},
    WeightRule{Part::mlp_norm, "transformer.layer.*.output_layer_norm", always},
    WeightRule{Part::head_dense, "vocab_transform", always},
    WeightRule{Part::head_norm, "vocab_layer_norm", always},
    WeightRule{Part::head, "vocab_projector", always},
};
constexpr std::array<std::string_view, 1> distilbert_prefixes{"distilbert."};
constexpr std::array<std::string_view, 1> distilbert_buffers{"embeddings.position_ids"};

}  // namespace

const FamilyRules& bert_rules() {
    static constexpr FamilyRules rules{"BERT", bert_prefixes, bert_weights, bert_buffers, Norm::Kind::layer};
    return rules;
}
const FamilyRules& roberta_rules() {
    static constexpr FamilyRules rules{"RoBERTa", roberta_prefixes, roberta_weights, roberta_buffers,
                                       Norm::Kind::layer};
    return rules;
}
const FamilyRules& distilbert_rules() {
    static constexpr FamilyRules rules{"DistilBERT", distilbert_prefixes, distilbert_weights,
                                       distilbert_buffers, Norm::Kind::layer};
    return rules;
}

}  // namespace attn
