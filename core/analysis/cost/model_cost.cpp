#include "analysis/cost/model_cost.hpp"

#include <algorithm>

namespace attn {

namespace {

double real(Index n) { return static_cast<double>(n); }

// Adds up what a step takes.
struct Adding {
    const ModelShape& shape;
    const NumberBytes& bytes;
    ModelStep step{};

    double q_width() const { return real(shape.heads * shape.head_dim); }
    double kv_width() const { return real(shape.kv_heads * shape.head_dim); }

    // Multiplies so many vectors by a matrix, of which there are `copies` that are all needed.
    void matrix(double vectors, double in, double out, double copies = 1) {
        step.operations.matrices += 2 * vectors * in * out;
        step.weights += bytes.weight * copies * in * out;
        step.activations += bytes.activation * vectors * (in + out);
    }
    // Attends from so many queries, which together see so many keys, to keys that are kept; `added` of these
    // are new.
    void attention(double queries, double seen, double kept, double added) {
        step.operations.attention += 4 * q_width() * seen;
        step.cache += bytes.cached * 2 * kv_width() * (kept + added);
        step.activations += bytes.activation * 2 * q_width() * queries;
    }
    void projections(double tokens) {
        const double d = real(shape.d_model);
        matrix(tokens, d, q_width());
        matrix(tokens, q_width(), d);
    }
    void keys_and_values(double tokens) {
        for (int i = 0; i < 2; ++i) matrix(tokens, real(shape.d_model), kv_width());
    }
    void mlp(double tokens) {
        const double d = real(shape.d_model), wide = real(shape.d_ff);
        double times = 1, copies = 1;
        if (shape.experts > 0) {
            matrix(tokens, d, real(shape.experts));
            times = real(shape.experts_per_token);
            copies = std::min(real(shape.experts), tokens * times);  // at most
        }
        for (int i = shape.gated ? 2 : 1; i > 0; --i) matrix(tokens * times, d, wide, copies);
        matrix(tokens * times, wide, d, copies);
    }
    void embedding(double tokens) {
        const double width = real(shape.embedding_width), d = real(shape.d_model);
        step.activations += bytes.activation * tokens * (width > 0 ? width : d);
        if (width > 0) matrix(tokens, width, d);
    }
};

Index window_of(const ModelShape& shape, Index layer) {
    return shape.windows.empty() ? 0 : shape.windows[static_cast<std::size_t>(layer)];
}

// The keys that these tokens see together, in a layer.
double keys_seen_by(const ModelShape& shape, Range tokens, Index window) {
    if (!shape.causal && window == 0) return real(tokens.size()) * real(tokens.end);
    if (!shape.causal) {
        double seen = 0;
        for (Index i = tokens.begin; i < tokens.end; ++i)
            seen += real(std::min(tokens.end, i + window) - std::max<Index>(0, i + 1 - window));
        return seen;
    }
    const auto up_to = [&](Index count) {
        const Index growing = window == 0 ? count : std::min(count, window);
        return real(growing) * (real(growing) + 1) / 2 + real(count - growing) * real(window);
    };
    return up_to(tokens.end) - up_to(tokens.begin);
}

// T5's MLPs may have a gate or not; in other families, all of them do, or none.
bool has_gate(const ModelConfig& config) {
    switch (config.family) {
        case Family::llama:
        case Family::mixtral:
        case Family::gemma2:
        case Family::olmo2:
        case Family::phi3:
        case Family::stablelm: return true;
        case Family::t5: return config.gated_mlp;
        default: return false;
    }
}

double mlp_weights(const ModelShape& s) {
    const double one = (s.gated ? 3 : 2) * real(s.d_model) * real(s.d_ff);
    return s.experts > 0 ? real(s.experts) * (one + real(s.d_model)) : one;
}

}  // namespace

ModelShape model_shape(const ModelConfig& c) {
    ModelShape shape{.layers = c.decoder_layers > 0 ? c.decoder_layers : c.layers,
                     .encoder_layers = c.decoder_layers > 0 ? c.layers : 0,
                     .d_model = c.d_model,
                     .heads = c.heads,
                     .kv_heads = c.kv_heads,
                     .head_dim = c.head_dim,
                     .d_ff = c.d_ff,
                     .vocabulary = c.vocab_size,
                     .gated = has_gate(c),
                     .tied = c.tie_word_embeddings,
                     .positions = c.learned_positions ? c.first_position + c.context : 0,
                     .embedding_width = c.embedding_width == c.d_model ? 0 : c.embedding_width,
                     .experts = c.experts,
                     .experts_per_token = c.experts_per_token,
                     .causal = c.causal};
    if (std::ranges::any_of(c.windows, [](Index window) { return window > 0; })) shape.windows = c.windows;
    return shape;
}

double weight_count(const ModelShape& s) {
    const double d = real(s.d_model), q = real(s.heads * s.head_dim), kv = real(s.kv_heads * s.head_dim),
                 width = real(s.embedding_width > 0 ? s.embedding_width : s.d_model),
                 attention = 2 * d * q + 2 * d * kv;
    double all = real(s.vocabulary) * width * (s.tied ? 1 : 2) + real(s.positions) * d;
    if (s.embedding_width > 0) all += 2 * width * d;         // in and out
    const double attentions = s.encoder_layers > 0 ? 2 : 1;  // a decoder's layer has a cross-attention, too
    return all + real(s.layers) * (attentions * attention + mlp_weights(s)) +
           real(s.encoder_layers) * (attention + mlp_weights(s));
}

double cache_bytes(const ModelShape& shape, Index tokens, const NumberBytes& bytes) {
    double kept = 0;
    for (Index layer = 0; layer < shape.layers; ++layer) {
        const Index window = window_of(shape, layer);
        kept += real(window > 0 ? std::min(window, tokens) : tokens);
        if (shape.encoder_layers > 0) kept += real(tokens);
    }
    return bytes.cached * 2 * real(shape.kv_heads * shape.head_dim) * kept;
}

ModelStep step_of(const ModelShape& shape, Range tokens, const NumberBytes& bytes) {
    Adding adding{shape, bytes};
    const double read = real(tokens.size()), encoded = shape.encoder_layers > 0 ? real(tokens.end) : 0;
    const bool first = tokens.begin == 0;
    if (encoded > 0 && first) {
        adding.embedding(encoded);
        for (Index layer = 0; layer < shape.encoder_layers; ++layer) {
            adding.projections(encoded);
            adding.keys_and_values(encoded);
            adding.attention(encoded, encoded * encoded, encoded, encoded);
            adding.mlp(encoded);
        }
    }
    adding.embedding(read);
    for (Index layer = 0; layer < shape.layers; ++layer) {
        const Index window = window_of(shape, layer);
        // The oldest key that the first of these tokens sees.
        const Index oldest = window > 0 && shape.causal ? std::max<Index>(0, tokens.begin + 1 - window) : 0;
        adding.projections(read);
        adding.keys_and_values(read);
        adding.attention(read, keys_seen_by(shape, tokens, window), real(tokens.end - oldest), read);
        if (encoded > 0) {
            adding.projections(read);
            if (first) adding.keys_and_values(encoded);
            adding.attention(read, read * encoded, encoded, first ? encoded : 0);
        }
        adding.mlp(read);
    }
    const double d = real(shape.d_model), width = real(shape.embedding_width);
    const double before_head = adding.step.operations.matrices;
    if (width > 0) adding.matrix(1, d, width);
    adding.matrix(1, width > 0 ? width : d, real(shape.vocabulary));
    adding.step.operations.logits = adding.step.operations.matrices - before_head;
    adding.step.operations.matrices = before_head;
    return adding.step;
}

std::optional<Index> attention_crossing(const ModelShape& shape, Index most) {
    const auto takes_most = [&](Index tokens) {
        const StepCost cost = step_of(shape, {0, tokens}, {}).operations;
        return cost.attention > cost.matrices;
    };
    if (!takes_most(most)) return std::nullopt;
    Index low = 0, high = most;
    while (high - low > 1) {
        const Index middle = low + (high - low) / 2;
        (takes_most(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace attn
