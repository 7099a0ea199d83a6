// Puts a model's weights together as its family's table names them.
#include <algorithm>
#include <cmath>

#include "model/block.hpp"
#include "model/families.hpp"
#include "model/rope_scaling.hpp"

namespace attn {

namespace {

constexpr auto out_in = WeightView::Layout::out_in;

class Assembly {
  public:
    Assembly(const FamilyRules& rules, std::span<const WeightRule> weights, const Model& model)
        : rules_(rules), weights_(weights), model_(model) {}

    // Null if the network has no such part.
    const WeightRule* rule(Part part) const {
        const auto found = std::ranges::find_if(weights_, [&](const WeightRule& each) {
            return each.part == part && each.when(model_.config());
        });
        return found == weights_.end() ? nullptr : &*found;
    }

    WeightView matrix(const std::string& name, WeightView::Layout layout) const {
        const Weight& weight = *model_.weight(name);
        const WeightView rows = stored_rows(weight);
        return layout == WeightView::Layout::in_out && !weight.transposed ? transposed(rows) : rows;
    }
    std::optional<WeightView> table(Part part) const {
        const WeightRule* found = rule(part);
        return found ? std::optional(matrix(std::string(found->name) + ".weight", out_in)) : std::nullopt;
    }

    std::optional<Linear> linear(Part part, Index layer = 0, Index expert = 0) const {
        const WeightRule* found = rule(part);
        if (!found) return std::nullopt;
        Linear made{.name = name_of(*found, layer, expert), .weight = {}, .bias = {}};
        made.weight = matrix(made.name + ".weight", rules_.layout);
        add_bias(made, made.name + ".bias");
        return made;
    }

    std::optional<Norm> norm(Part part, Index layer = 0) const {
        const WeightRule* found = rule(part);
        if (!found) return std::nullopt;
        const ModelConfig& config = model_.config();
        Norm made{.name = name_of(*found, layer),
                  .kind = rules_.norm,
                  .gain = {},
                  .bias = {},
                  .epsilon = config.norm_epsilon,
                  .adds_one = config.norm_adds_one};
        made.gain = to_tensor(*model_.weight(made.name + ".weight"));
        if (made.adds_one)
            for (float& each : made.gain.values()) each += 1;
        if (const Weight* bias = model_.weight(made.name + ".bias")) made.bias = to_tensor(*bias);
        return made;
    }

    Linear head(const WeightView& token_embedding) const {
        const WeightRule& own = *rule(Part::head);
        const WeightRule* bias = rule(Part::head_bias);
        const bool tied = model_.config().tie_word_embeddings;
        Linear made{.name = std::string(tied ? rule(Part::token_embedding)->name : own.name),
                    .weight = tied ? token_embedding : matrix(std::string(own.name) + ".weight", out_in),
                    .bias = {}};
        add_bias(made, std::string(bias ? bias->name : own.name) + ".bias");
        return made;
    }

  private:
    void add_bias(Linear& to, const std::string& name) const {
        if (const Weight* bias = model_.weight(name)) {
            to.bias = to_tensor(*bias);
            to.bias_name = name;
        }
    }

    const FamilyRules& rules_;
    std::span<const WeightRule> weights_;  // one stack's
    const Model& model_;
};

// A linear of some of the outputs, which share the memory of the weights: [out, in].
Linear outputs(const Linear& all, Index first, Index count) {
    Linear part{.name = all.name, .weight = rows(all.weight, {first, first + count}), .bias = {}};
    part.first_out = first;
    part.bias_name = all.bias_name;
    if (all.bias.size() > 0)
        part.bias = Tensor({count}, all.bias.values().subspan(static_cast<std::size_t>(first),
                                                              static_cast<std::size_t>(count)));
    return part;
}

std::vector<Linear> qkv_of(const Assembly& parts, const ModelConfig& config, Index layer) {
    std::vector<Linear> made;
    if (const auto all = parts.linear(Part::qkv_by_group, layer)) {
        const Index queries = config.heads / config.kv_heads, d = config.head_dim;
        const auto put = [&](Index first, Index heads) {
            for (Index group = 0; group < config.kv_heads; ++group)
                made.push_back(outputs(*all, (group * (queries + 2) + first) * d, heads * d));
        };
        put(0, queries);
        put(queries, 1);
        put(queries + 1, 1);
        return made;
    }
    for (const Part part : {Part::qkv, Part::q, Part::k, Part::v})
        if (auto linear = parts.linear(part, layer)) made.push_back(*std::move(linear));
    return made;
}

Mlp mlp_of(const Assembly& parts, const ModelConfig& config, Index layer, Index expert) {
    Mlp mlp{.gate = parts.linear(Part::gate, layer, expert),
            .up = {},
            .down = *parts.linear(Part::down, layer, expert)};
    if (const auto both = parts.linear(Part::gate_up, layer)) {
        mlp.gate = outputs(*both, 0, config.d_ff);
        mlp.up = outputs(*both, config.d_ff, config.d_ff);
    } else {
        mlp.up = *parts.linear(Part::up, layer, expert);
    }
    return mlp;
}

// All layers turn alike, or those with a window otherwise: then they have the second of the two.
std::vector<Rotary> rotary_of(const ModelConfig& config) {
    if (config.rotary_dim == 0) return {};
    const RopeScaling& scaling = config.rope_scaling;
    std::vector<Rotary> made(1);
    made[0] = {.frequencies = rotary_frequencies(config.rotary_dim, config.rope_theta, scaling),
               .long_frequencies = {},
               .long_after = scaling.original_context,
               .base = config.rope_theta,
               .magnitude = rotary_magnitude(scaling),
               .interleaved = config.rotary_interleaved};
    if (scaling.kind == RopeScaling::Kind::longrope && !scaling.long_factor.empty())
        made[0].long_frequencies = long_rotary_frequencies(config.rotary_dim, config.rope_theta, scaling);
    if (config.window_rope_theta > 0)
        made.push_back({.frequencies = rotary_frequencies(config.rotary_dim, config.window_rope_theta, {}),
                        .long_frequencies = {},
                        .base = config.window_rope_theta,
                        .interleaved = config.rotary_interleaved});
    return made;
}

double scale_of(const ModelConfig& config, Index layer) {
    const double under_root = config.query_pre_attn_scalar > 0 ? config.query_pre_attn_scalar
                                                               : static_cast<double>(config.head_dim);
    double scale = config.scale_by_head_dim ? 1 / std::sqrt(under_root) : 1.0;
    if (config.scale_by_layer_index) scale /= static_cast<double>(layer + 1);
    return scale;
}

std::optional<AttentionSublayer> cross_of(const Assembly& parts, const ModelConfig& config, Index layer) {
    auto out = parts.linear(Part::cross_out, layer);
    if (!out) return std::nullopt;
    AttentionSublayer half;
    half.attention_norm = parts.norm(Part::cross_norm, layer);
    for (const Part part : {Part::cross_q, Part::cross_k, Part::cross_v})
        half.qkv.push_back(*parts.linear(part, layer));
    half.scale = scale_of(config, layer);
    half.causal = false;
    half.attention_out = *std::move(out);
    return half;
}

Block block_of(const Assembly& parts, const ModelConfig& config, Index layer, bool causal) {
    const Index window = config.windows[static_cast<std::size_t>(layer)];
    Block block;
    auto attention_norm = parts.norm(Part::attention_norm, layer),
         mlp_norm = parts.norm(Part::mlp_norm, layer);
    if (!config.own_mlp_norm) mlp_norm = attention_norm;
    (config.norms_after ? block.attention_post_residual_norm : block.attention_norm) =
        std::move(attention_norm);
    (config.norms_after ? block.mlp_post_residual_norm : block.mlp_norm) = std::move(mlp_norm);
    block.attention_post_sublayer_norm = parts.norm(Part::attention_post_sublayer_norm, layer);
    block.mlp_post_sublayer_norm = parts.norm(Part::mlp_post_sublayer_norm, layer);

    block.qkv = qkv_of(parts, config, layer);
    block.q_norm = parts.norm(Part::head_q_norm, layer);
    block.k_norm = parts.norm(Part::head_k_norm, layer);
    if (!block.q_norm) block.q_norm = parts.norm(Part::q_norm, layer);
    if (!block.k_norm) block.k_norm = parts.norm(Part::k_norm, layer);
    if (config.rotary_dim > 0) block.rotary = window > 0 && config.window_rope_theta > 0 ? 1 : 0;
    block.scale = scale_of(config, layer);
    block.softcap = config.score_cap;
    block.window = window;
    block.causal = causal;
    block.attention_out = *parts.linear(Part::attention_out, layer);
    block.cross = cross_of(parts, config, layer);

    block.parallel = config.parallel;
    if (auto router = parts.linear(Part::router, layer)) {
        block.experts = {*std::move(router), config.experts_per_token, {}};
        for (Index expert = 0; expert < config.experts; ++expert)
            block.experts->all.push_back(mlp_of(parts, config, layer, expert));
    } else {
        block.mlp = mlp_of(parts, config, layer, 0);
    }
    return block;
}

}  // namespace

RotaryPair pair_of(const Rotary* rotary, Index component) {
    const Index pairs = rotary ? rotary->pairs() : 0;
    if (component >= 2 * pairs) return {};
    if (rotary->interleaved) {
        const bool first = component % 2 == 0;
        return {component / 2, first ? component + 1 : component - 1, first};
    }
    const bool first = component < pairs;
    return {first ? component : component - pairs, first ? component + pairs : component - pairs, first};
}

bool is_plain(const Network& n) {
    const auto plain = [&](const Block& b) {
        const Rotary* rotary = b.rotary ? &n.rotary[*b.rotary] : nullptr;
        const bool plain_rope =
            !rotary || (!rotary->interleaved && rotary->magnitude == 1 && rotary->long_frequencies.empty());
        const bool whole = b.mlp.up.first_out == 0 &&
                           std::ranges::all_of(b.qkv, [](const Linear& each) { return each.first_out == 0; });
        return b.attention_norm && b.mlp_norm && !b.attention_post_sublayer_norm &&
               !b.attention_post_residual_norm && !b.mlp_post_sublayer_norm && !b.mlp_post_residual_norm &&
               !b.parallel && !b.experts && !b.q_norm && !b.k_norm && !b.attention_norm->adds_one &&
               b.softcap == 0 && plain_rope && whole;
    };
    return n.embedding_scale == 1 && !n.project_in && n.first_position == 0 && !n.segment_embedding &&
           !n.embedding_norm && n.rotary.size() <= 1 && n.final_norm && !has_head_input(n) &&
           n.logit_cap == 0 && n.causal && n.head.bias.size() == 0 && !n.encoder && !n.relative_bias &&
           std::ranges::all_of(n.blocks, plain);
}

Index Network::attentions() const {
    const auto crosses =
        std::ranges::count_if(blocks, [](const Block& each) { return each.cross.has_value(); });
    return (encoder ? encoder->attentions() : 0) + std::ssize(blocks) + crosses;
}

AttentionPlace Network::place_of(Index number) const {
    if (!encoder) return {AttentionKind::self, number};
    const Index of_encoder = encoder->attentions(), own = number - of_encoder;
    if (own < 0) return {AttentionKind::encoder, number};
    if (own < std::ssize(blocks)) return {AttentionKind::decoder, own};
    return {AttentionKind::cross, own - std::ssize(blocks)};
}

const AttentionSublayer& Network::attention(Index number) const {
    const AttentionPlace place = place_of(number);
    const Network& stack = place.kind == AttentionKind::encoder ? *encoder : *this;
    const Block& block = stack.blocks[static_cast<std::size_t>(place.layer)];
    return place.kind == AttentionKind::cross ? *block.cross : block;
}

namespace {

// What both stacks of an encoder–decoder have.
Network stack_of(const Assembly& parts, const ModelConfig& config, Index layers, bool causal) {
    Network network;
    network.embedding_scale = config.embedding_scale;
    network.rotary = rotary_of(config);
    if (const auto table = parts.table(Part::relative_bias))
        network.relative_bias = {std::string(parts.rule(Part::relative_bias)->name),
                                 *table,
                                 {config.buckets, config.most_distance, !causal}};
    for (Index layer = 0; layer < layers; ++layer)
        network.blocks.push_back(block_of(parts, config, layer, causal));
    network.final_norm = parts.norm(Part::final_norm);
    network.causal = causal;
    return network;
}

}  // namespace

Network assemble(const FamilyRules& rules, const Model& model) {
    const ModelConfig& config = model.config();
    const Assembly parts(rules, rules.weights, model);
    const Index layers = config.decoder_layers > 0 ? config.decoder_layers : config.layers;
    Network network = stack_of(parts, config, layers, config.causal);
    network.token_embedding = *parts.table(Part::token_embedding);
    network.project_in = parts.linear(Part::project_in);
    network.position_embedding = parts.table(Part::position_embedding);
    network.first_position = config.first_position;
    network.padding_id = config.padding_id;
    network.segment_embedding = parts.table(Part::segment_embedding);
    network.embedding_norm = parts.norm(Part::embedding_norm);
    network.project_out = parts.linear(Part::project_out);
    if (auto dense = parts.linear(Part::head_dense))
        network.head_transform = {*std::move(dense),
                                  // RoBERTa's own code has GELU here, whatever its blocks have.
                                  config.family == Family::roberta ? Activation::gelu : config.activation,
                                  *parts.norm(Part::head_norm)};
    network.head_scale = config.head_scale;
    network.head = parts.head(network.token_embedding);
    network.logit_cap = config.logit_cap;
    if (config.decoder_layers > 0) {
        Network encoder =
            stack_of(Assembly(rules, rules.encoder_weights, model), config, config.layers, false);
        encoder.token_embedding = network.token_embedding;
        network.encoder = std::make_shared<const Network>(std::move(encoder));
    }
    return network;
}

}  // namespace attn
