// Reads any bytes as a config.json. If a model is accepted, its sizes must fit together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/target.hpp"
#include "io/model_config.hpp"

using namespace attn;

FUZZ_TARGET(config) {
    const auto config = parse_model_config(std::as_bytes(std::span(data, size)));
    if (!config) {
        require(config.error().message.starts_with("config.json "));
        return 0;
    }
    const ModelConfig& c = *config;
    require(c.vocab_size > 0 && c.layers > 0 && c.d_model > 0 && c.d_ff > 0 && c.context > 0);
    require(c.heads > 0 && c.kv_heads > 0 && c.heads % c.kv_heads == 0 && c.head_dim > 0);
    require(c.norm_epsilon > 0);
    require(std::ssize(c.windows) == std::max(c.layers, c.decoder_layers));  // in either stack
    for (Index window : c.windows) require(window >= 0);
    for (Index rows : {c.vocab_size, c.d_ff, 3 * c.heads * c.head_dim})
        require(static_cast<bool>(element_count({rows, c.d_model}, sizeof(float))));
    if (c.family == Family::gpt2) require(c.heads * c.head_dim == c.d_model);
    require(c.rotary_dim % 2 == 0 && c.rotary_dim <= c.head_dim);
    if (c.rotary_dim > 0) require(c.rope_theta >= 1 && c.rope_scaling.factor >= 1);
    return 0;
}
