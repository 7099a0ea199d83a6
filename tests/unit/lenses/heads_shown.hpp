// Opens Heads, on a small model of its own.
#pragma once

#include "lenses/heads/heads.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::heads::Model& heads_in(const app::Visit& visit) {
    return static_cast<app::ModelLens<app::heads::Model>&>(visit.lens()).model();
}

inline void show_heads(Screen& screen, const app::heads::State& shown = {}) {
    show_lens(screen, "heads", app::Set<app::heads::State>{shown});
}

constexpr const char* four_heads =
    R"({"model_type": "llama", "vocab_size": 20, "max_position_embeddings": 16, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24})";

}  // namespace attn::test
