// When a checkpoint has a tensor, as several families' tables ask.
#pragma once

#include "io/model_config.hpp"

namespace attn {

inline bool with_qkv_bias(const ModelConfig& c) { return c.qkv_bias; }
inline bool with_out_bias(const ModelConfig& c) { return c.attention_output_bias; }
inline bool with_mlp_bias(const ModelConfig& c) { return c.mlp_bias; }
inline bool with_qk_norm(const ModelConfig& c) { return c.qk_norm; }
inline bool with_mlp_norm(const ModelConfig& c) { return c.own_mlp_norm; }
inline bool with_norms_before(const ModelConfig& c) { return !c.norms_after; }
inline bool with_gate(const ModelConfig& c) { return c.gated_mlp; }
inline bool without_gate(const ModelConfig& c) { return !c.gated_mlp; }
inline bool with_projections(const ModelConfig& c) { return c.embedding_width > 0; }

}  // namespace attn
