// Provides networks of both families that are small enough to be differentiated by hand, and their inputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attn::test {

inline constexpr std::string_view small_gpt2 =
    R"({"model_type": "gpt2", "vocab_size": 20, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2})";
// Two heads share one key-value head.
inline constexpr std::string_view small_llama =
    R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
    "rms_norm_eps": 1e-5})";

inline const std::vector<std::int32_t> read_ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

}  // namespace attn::test
