// What llama.cpp's converter calls the tensors of its architectures. It turns every matrix to [out, in], adds
// the 1 to Gemma's norms, and puts the rows of llama's Q and K where llama.cpp's rotation wants them.
#include <algorithm>
#include <array>

#include "model/conditions.hpp"
#include "model/families.hpp"

namespace attn {

namespace {

constexpr std::array gguf_llama_weights{
    WeightRule{Part::token_embedding, "token_embd"},
    WeightRule{Part::attention_norm, "blk.*.attn_norm"},
    WeightRule{Part::q, "blk.*.attn_q", with_qkv_bias},
    WeightRule{Part::k, "blk.*.attn_k", with_qkv_bias},
    WeightRule{Part::v, "blk.*.attn_v", with_qkv_bias},
    WeightRule{Part::head_q_norm, "blk.*.attn_q_norm", never, with_qk_norm},
    WeightRule{Part::head_k_norm, "blk.*.attn_k_norm", never, with_qk_norm},
    WeightRule{Part::attention_out, "blk.*.attn_output", with_out_bias},
    WeightRule{Part::mlp_norm, "blk.*.ffn_norm"},
    WeightRule{Part::gate, "blk.*.ffn_gate", with_mlp_bias},
    WeightRule{Part::up, "blk.*.ffn_up", with_mlp_bias},
    WeightRule{Part::down, "blk.*.ffn_down", with_mlp_bias},
    WeightRule{Part::final_norm, "output_norm"},
    WeightRule{Part::head, "output"},
};

constexpr std::array gguf_gemma_weights{
    WeightRule{Part::token_embedding, "token_embd"},
    WeightRule{Part::attention_norm, "blk.*.attn_norm"},
    WeightRule{Part::q, "blk.*.attn_q", with_qkv_bias},
    WeightRule{Part::k, "blk.*.attn_k", with_qkv_bias},
    WeightRule{Part::v, "blk.*.attn_v", with_qkv_bias},
    WeightRule{Part::head_q_norm, "blk.*.attn_q_norm", never, with_qk_norm},
    WeightRule{Part::head_k_norm, "blk.*.attn_k_norm", never, with_qk_norm},
    WeightRule{Part::attention_out, "blk.*.attn_output", with_out_bias},
    WeightRule{Part::attention_post_sublayer_norm, "blk.*.post_attention_norm"},
    WeightRule{Part::mlp_norm, "blk.*.ffn_norm"},
    WeightRule{Part::gate, "blk.*.ffn_gate"},
    WeightRule{Part::up, "blk.*.ffn_up"},
    WeightRule{Part::down, "blk.*.ffn_down"},
    WeightRule{Part::mlp_post_sublayer_norm, "blk.*.post_ffw_norm"},
    WeightRule{Part::final_norm, "output_norm"},
    WeightRule{Part::head, "output"},
};

constexpr std::array gguf_phi3_weights{
    WeightRule{Part::token_embedding, "token_embd"},
    WeightRule{Part::attention_norm, "blk.*.attn_norm"},
    WeightRule{Part::qkv, "blk.*.attn_qkv", with_qkv_bias},
    WeightRule{Part::attention_out, "blk.*.attn_output", with_out_bias},
    WeightRule{Part::mlp_norm, "blk.*.ffn_norm"},
    WeightRule{Part::gate_up, "blk.*.ffn_up", with_mlp_bias},
    WeightRule{Part::down, "blk.*.ffn_down", with_mlp_bias},
    WeightRule{Part::final_norm, "output_norm"},
    WeightRule{Part::head, "output"},
};

constexpr std::array gguf_gpt2_weights{
    WeightRule{Part::token_embedding, "token_embd"},
    WeightRule{Part::position_embedding, "position_embd"},
    WeightRule{Part::attention_norm, "blk.*.attn_norm", always},
    WeightRule{Part::qkv, "blk.*.attn_qkv", always},
    WeightRule{Part::attention_out, "blk.*.attn_output", always},
    WeightRule{Part::mlp_norm, "blk.*.ffn_norm", always},
    WeightRule{Part::up, "blk.*.ffn_up", always},
    WeightRule{Part::down, "blk.*.ffn_down", always},
    WeightRule{Part::final_norm, "output_norm", always},
    WeightRule{Part::head, "output"},
};

// The configuration has read these.
constexpr std::array<std::string_view, 3> gguf_buffers{"rope_freqs.weight", "rope_factors_long.weight",
                                                       "rope_factors_short.weight"};

constexpr FamilyRules gguf_llama{.title = "Llama",
                                 .prefixes = {},
                                 .weights = gguf_llama_weights,
                                 .buffers = gguf_buffers,
                                 .paired_rows = true};
constexpr FamilyRules gguf_qwen{
    .title = "Qwen", .prefixes = {}, .weights = gguf_llama_weights, .buffers = gguf_buffers};
constexpr FamilyRules gguf_gemma{
    .title = "Gemma", .prefixes = {}, .weights = gguf_gemma_weights, .buffers = gguf_buffers};
constexpr FamilyRules gguf_phi3{
    .title = "Phi-3", .prefixes = {}, .weights = gguf_phi3_weights, .buffers = gguf_buffers};
constexpr FamilyRules gguf_gpt2{.title = "GPT-2",
                                .prefixes = {},
                                .weights = gguf_gpt2_weights,
                                .buffers = gguf_buffers,
                                .norm = Norm::Kind::layer};

}  // namespace

const FamilyRules& gguf_rules(const ModelConfig& config) {
    switch (config.family) {
        case Family::gpt2: return gguf_gpt2;
        case Family::gemma2: return gguf_gemma;
        case Family::phi3: return gguf_phi3;
        default: return config.model_type == "llama" ? gguf_llama : gguf_qwen;
    }
}

}  // namespace attn
