#include "analysis/theory/cache_cost.hpp"

#include <algorithm>

namespace attn {

namespace {

double weights_of(const Linear& linear) {
    return static_cast<double>(linear.weight.in) * static_cast<double>(linear.weight.out);
}
double weights_of(const Mlp& mlp) {
    return (mlp.gate ? weights_of(*mlp.gate) : 0) + weights_of(mlp.up) + weights_of(mlp.down);
}

// Σ over the tokens of how many keys each sees, where it sees at most `window` of them.
double keys_seen(Range tokens, Index window) {
    const auto up_to = [&](Index count) {
        const auto whole = static_cast<double>(std::min(count, window)),
                   rest = static_cast<double>(std::max<Index>(count - window, 0));
        return whole * (whole + 1) / 2 + rest * static_cast<double>(window);
    };
    if (window == 0) window = tokens.end;
    return up_to(tokens.end) - up_to(tokens.begin);
}

double kv_weights(const CacheShape& shape, const CacheShape::Layer& layer) {
    return 2 * static_cast<double>(shape.d_model) * static_cast<double>(layer.kv_heads * layer.head_dim);
}

}  // namespace

CacheShape cache_shape(const Network& network, const ModelConfig& config, Index encoded) {
    CacheShape shape{.d_model = config.d_model, .encoded = encoded};
    const auto d = static_cast<double>(config.d_model),
               q_width = static_cast<double>(config.heads * config.head_dim);
    for (const Block& block : network.blocks) {
        CacheShape::Layer layer{.heads = config.heads,
                                .kv_heads = config.kv_heads,
                                .head_dim = config.head_dim,
                                .window = block.window,
                                .weights = d * q_width + weights_of(block.attention_out),
                                .crosses = block.cross.has_value()};
        if (block.cross) layer.weights += d * q_width + weights_of(block.cross->attention_out);
        if (block.experts)
            layer.weights +=
                weights_of(block.experts->router) +
                static_cast<double>(block.experts->per_token) * weights_of(block.experts->all.front());
        else
            layer.weights += weights_of(block.mlp);
        shape.layers.push_back(layer);
    }
    if (network.project_in) shape.entry_weights = weights_of(*network.project_in);
    shape.head_weights = weights_of(network.head);
    if (network.project_out) shape.head_weights += weights_of(*network.project_out);
    if (network.head_transform) shape.head_weights += weights_of(network.head_transform->dense);
    return shape;
}

CacheShape with_kv_heads(CacheShape shape, Index kv_heads) {
    for (CacheShape::Layer& layer : shape.layers) layer.kv_heads = kv_heads;
    return shape;
}

CacheShape with_window(CacheShape shape, Index window) {
    for (CacheShape::Layer& layer : shape.layers)
        if (layer.window == 0 || window < layer.window) layer.window = window;
    return shape;
}

double numbers_kept(const CacheShape& shape, Index tokens) {
    double numbers = 0;
    for (const CacheShape::Layer& layer : shape.layers)
        numbers += 2 * static_cast<double>(layer.kv_heads * layer.head_dim) *
                   static_cast<double>(tokens_kept(layer, tokens));
    return numbers;
}

double cross_numbers_kept(const CacheShape& shape) {
    double numbers = 0;
    for (const CacheShape::Layer& layer : shape.layers)
        if (layer.crosses)
            numbers +=
                2 * static_cast<double>(layer.kv_heads * layer.head_dim) * static_cast<double>(shape.encoded);
    return numbers;
}

double bytes_of_head(Range tokens, Index head_dim, const CachePrecision& precision) {
    const auto numbers = [&](Index of_tokens) { return 2 * static_cast<double>(of_tokens * head_dim); };
    if (precision.bits >= 16) return numbers(tokens.size()) * static_cast<double>(precision.bits) / 8;
    // A group's least number and its step are kept in 16 bits each, and so is what waits for its group to be
    // complete.
    constexpr double bytes_a_group = 4;
    const Index complete = tokens.end / precision.group, rounded_end = complete * precision.group,
                rounded = std::max<Index>(rounded_end - tokens.begin, 0),
                groups = rounded > 0 ? complete - tokens.begin / precision.group : 0,
                channels = std::min(precision.group, head_dim),
                groups_a_token = (head_dim + channels - 1) / channels;
    return numbers(rounded) * static_cast<double>(precision.bits) / 8 +
           static_cast<double>(groups * head_dim + rounded * groups_a_token) * bytes_a_group +
           numbers(tokens.size() - rounded) * 2;
}

double bytes_kept(const CacheShape& shape, Index tokens, const CachePrecision& precision) {
    double sum = 0;
    for (const CacheShape::Layer& layer : shape.layers)
        sum += static_cast<double>(layer.kv_heads) *
               bytes_of_head(range_kept(layer, tokens), layer.head_dim, precision);
    return sum;
}

StepCost step_cost(const CacheShape& shape, Range tokens) {
    const auto read = static_cast<double>(tokens.size()), encoded = static_cast<double>(shape.encoded);
    StepCost cost{.matrices = 2 * read * shape.entry_weights, .logits = 2 * shape.head_weights};
    for (const CacheShape::Layer& layer : shape.layers) {
        const auto q_width = static_cast<double>(layer.heads * layer.head_dim);
        cost.matrices += 2 * read * (layer.weights + kv_weights(shape, layer));
        cost.attention += 4 * q_width * keys_seen(tokens, layer.window);
        if (!layer.crosses) continue;
        if (tokens.begin == 0) cost.matrices += 2 * encoded * kv_weights(shape, layer);
        cost.attention += 4 * q_width * read * encoded;
    }
    return cost;
}

}  // namespace attn
