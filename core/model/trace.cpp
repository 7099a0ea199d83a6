#include "model/trace.hpp"

#include <algorithm>

#include "model/block.hpp"
#include "model/families.hpp"

namespace attn {

Tensor Trace::logits(Range range) const { return logits(range, {0, network_->head.weight.out}); }

Tensor Trace::logits(Range range, Range tokens) const {
    Tensor out({range.size(), tokens.size()});
    head_logits(*kernels_, *network_, tokens, rows(head_input().matrix(), range), out.matrix());
    return out;
}

namespace {

// The rows of W_O that one head's output is multiplied by, widened to f32 if they are not contiguous.
struct HeadOutput {
    Tensor storage;
    WeightView weight;
};

HeadOutput output_matrix(const WeightView& all, Index head, Index head_dim) {
    const Index first = head * head_dim;
    if (all.layout == WeightView::Layout::in_out) return {{}, rows(all, {first, first + head_dim})};
    HeadOutput out{Tensor({all.out, head_dim}), {}};
    for (Index row = 0; row < all.out; ++row)
        read_row(all, row, first, {out.storage.matrix().row(row), static_cast<std::size_t>(head_dim)});
    out.weight = {
        .data = reinterpret_cast<const std::byte*>(out.storage.data()), .in = head_dim, .out = all.out};
    return out;
}

}  // namespace

LayerAttention Trace::attention(Index number) const {
    const AttentionPlace place = network_->place_of(number);
    const Trace& own = place.kind == AttentionKind::encoder ? *encoder_ : *this;
    const LayerTrace& layer = own.layers_[static_cast<std::size_t>(place.layer)];
    const AttentionSublayer& half = network_->attention(number);
    if (place.kind == AttentionKind::cross)
        return {place, half, *layer.cross, own, *encoder_, encoder_->final_norm_};
    return {place, half, layer, own, own, layer.attention_input};
}

Tensor Trace::head_contribution(Index number, Index head, Range range) const {
    return head_contribution(number, head,
                             rows(attention(number).record().output().heads().head(head), range));
}

Tensor Trace::head_contribution(Index number, Index head, ConstMatrix outputs) const {
    const HeadOutput w_o = output_matrix(attention(number).half.attention_out.weight, head, outputs.cols);
    Tensor out({outputs.rows, w_o.weight.out});
    kernels_->linear(outputs, w_o.weight, {}, Activation::none, out.matrix());
    return out;
}

std::vector<NamedTensor> Trace::tensors() const {
    std::vector<NamedTensor> all;
    if (encoder_)
        for (NamedTensor& each : encoder_->tensors())
            all.push_back({"encoder." + each.name, std::move(each.axes), each.tensor});
    const std::vector<std::string> width{"token", "d_model"};
    const auto add_if = [&](std::string name, const std::vector<std::string>& axes, const Tensor& tensor) {
        if (tensor.size() > 0) all.push_back({std::move(name), axes, &tensor});
    };
    all.push_back({"token_embedding", width, &token_embedding_});
    add_if("position_embedding", width, position_embedding_);
    add_if("segment_embedding", width, segment_embedding_);
    add_if("embedding_sum", width, embedding_sum_);
    if (const Bias& bias = layers_.front().attention.spec().bias; !bias.empty())
        all.push_back({"relative_bias", {"head", "query", "offset"}, bias.values.get()});
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        const LayerTrace& layer = layers_[l];
        const Block& block = network_->blocks[l];
        const std::string of_layer = "layers." + std::to_string(l) + ".";
        const auto name = [&](const char* part) { return of_layer + part; };
        const auto add_attention = [&](const AttentionSublayer& half, const AttentionTrace& of,
                                       const std::string& before) {
            const Record& run = of.attention;
            all.push_back({before + "residual_in", width, &of.resid_pre});
            all.push_back({before + "attention_input", width, &of.attention_input});
            all.push_back({before + "attention.q", {"head", "query", "head_dim"}, &run.q()});
            all.push_back({before + "attention.k", {"kv_head", "key", "head_dim"}, &run.k()});
            all.push_back({before + "attention.v", {"kv_head", "key", "head_dim"}, &run.v()});
            all.push_back({before + "attention.output", {"head", "query", "head_dim"}, &run.output()});
            all.push_back({before + "attention.row_max", {"head", "query"}, &run.row_max()});
            all.push_back({before + "attention.row_log_sum", {"head", "query"}, &run.row_log_sum()});
            all.push_back({before + "attention_output", width, &of.attention_output});
            add_if(before + (half.attention_post_residual_norm ? "attention_sum" : "attention_added"), width,
                   of.attention_between);
        };
        add_attention(block, layer, of_layer);
        if (layer.cross) add_attention(*block.cross, *layer.cross, of_layer + "cross.");
        all.push_back({name("residual_middle"), width, &layer.resid_mid});
        all.push_back({name("mlp_input"), width, &layer.mlp_input});
        add_if(name("chosen_experts"), {"token", "choice"}, layer.chosen_experts);
        add_if(name("expert_weights"), {"token", "choice"}, layer.expert_weights);
        all.push_back({name("mlp_hidden"), {"token", "d_ff"}, &layer.mlp_hidden});
        all.push_back({name("mlp_output"), width, &layer.mlp_output});
        add_if(name(block.mlp_post_residual_norm ? "mlp_sum" : "mlp_added"), width, layer.mlp_between);
    }
    all.push_back({"final_residual", width, &final_residual_});
    all.push_back({"final_norm", width, &final_norm_});
    add_if("head_input", {"token", "embedding"}, head_input_);
    return all;
}

Index common_beginning(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
}

Index same_beginning(const Trace& run, std::span<const std::int32_t> ids, const Trace* encoder) {
    const Network& network = run.network();
    if (!network.causal || !same_rope_frequencies(network, run.tokens(), std::ssize(ids))) return 0;
    return run.encoder().get() == encoder ? common_beginning(run.ids(), ids) : 0;
}

namespace {

std::int64_t stack_bytes(const ModelConfig& config, Index layers, std::int64_t tokens, bool has_head) {
    const FamilyRules& rules = family_rules(config.family);
    const auto one_if = [&](Part part) -> std::int64_t { return has(rules, part, config) ? 1 : 0; };
    const std::int64_t d = config.d_model;
    const std::int64_t heads =
        2 * config.heads * (config.head_dim + 1) + 2 * config.kv_heads * config.head_dim;
    const std::int64_t between = config.norms_after ? 2
                                                    : one_if(Part::attention_post_sublayer_norm) +
                                                          one_if(Part::mlp_post_sublayer_norm);
    const std::int64_t experts = config.experts_per_token;
    const std::int64_t layer =
        (6 + between) * d + heads + 2 * experts + std::max<std::int64_t>(experts, 1) * config.d_ff;
    const std::int64_t embeddings =
        1 + one_if(Part::position_embedding) + one_if(Part::segment_embedding) + one_if(Part::embedding_norm);
    const std::int64_t head_input = one_if(Part::project_out) * config.embedding_width +
                                    (one_if(Part::head_dense) + (config.head_scale != 1)) * d;
    const std::int64_t biases = config.buckets > 0 ? config.heads * (2 * tokens - 1) : 0;
    return std::int64_t{sizeof(float)} *
           (tokens * (embeddings * d + layers * layer + 2 * d + (has_head ? head_input : 0)) + biases);
}

}  // namespace

std::int64_t Trace::memory_bytes() const {
    const ModelConfig& config = model_->config();
    if (encoder_) return trace_bytes(config, encoder_->tokens(), tokens());
    return stack_bytes(config, std::ssize(layers_), tokens(), network_ == &model_->network());
}

std::int64_t trace_bytes(const ModelConfig& config, Index tokens, Index decoder_tokens) {
    if (config.decoder_layers == 0) return stack_bytes(config, config.layers, tokens, true);
    const std::int64_t of_query = 3 * config.d_model + 2 * config.heads * (config.head_dim + 1),
                       of_key = 2 * config.kv_heads * config.head_dim;
    const std::int64_t cross = of_query * decoder_tokens + of_key * tokens;
    return stack_bytes(config, config.layers, tokens, false) +
           stack_bytes(config, config.decoder_layers, decoder_tokens, true) +
           std::int64_t{sizeof(float)} * config.decoder_layers * cross;
}

}  // namespace attn
