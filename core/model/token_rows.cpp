#include "model/token_rows.hpp"

#include <algorithm>

#include "model/experts.hpp"

namespace attn {

ResidualRows::ResidualRows(std::shared_ptr<const Model> model, const Kernels& kernels, Index rows)
    : model_(std::move(model)), kernels_(&kernels), residual_({rows, model_->config().d_model}) {}

void ResidualRows::follow(const Trace& run, Index first) {
    run_ = &run;
    first_ = first;
}

Index ResidualRows::number_of(std::size_t layer, bool cross) const {
    const Network& network = model_->network();
    const Index layers = std::ssize(network.blocks), kinds = cross ? 1 : network.encoder ? 2 : 1;
    return network.attentions() - kinds * layers + static_cast<Index>(layer);
}

void ResidualRows::change(Index attention, Site site, HeadsView<float> rows) const {
    if (!run_) return;
    for (const Intervention& each : run_->interventions())
        if (is_at(each, model_->network(), attention, site)) attn::change(each.edit, rows, first_);
}
void ResidualRows::change(std::size_t layer, Site site, HeadsView<float> rows) const {
    change(number_of(layer, false), site, rows);
}

TokenRows::TokenRows(std::shared_ptr<const Model> model, const Kernels& kernels, Index position,
                     Index variants)
    : ResidualRows(std::move(model), kernels, variants), position_(position), variants_(variants) {
    const Network& network = model_->network();
    rotary_ = RotaryTables(network, {position, position + 1});
    rotary_.fill(network, {position, position + 1}, position + 1);
    if (!network.relative_bias) return;
    const Tensor before = relative_biases(*network.relative_bias, {-position, 1});
    biases_ = Tensor({before.dim(0), 1, position + variants});
    for (Index head = 0; head < before.dim(0); ++head) {
        const float* from = before.heads().head(head).row(0);
        float* to = biases_.heads().head(head).row(0);
        std::copy_n(from, position, to);
        std::fill_n(to + position, variants, from[position]);
    }
}

RotaryRows TokenRows::rotary_of(const AttentionSublayer& half) const {
    RotaryRows rows = rotary_.of(half, {position_, position_ + 1});
    // All variants are at the same position.
    for (ConstMatrix* each : {&rows.cosine, &rows.sine}) {
        each->rows = variants_;
        each->row_stride = 0;
    }
    return rows;
}

namespace {

// A variant sees the keys of the tokens before and, of those behind them, its own.
struct OwnKey {
    Index before;

    CellRule rule() const { return {.self = this, .row = &row, .tile = &tile}; }
    static void row(const void* self, Index, Index variant, Index first_key,
                    std::span<std::uint8_t> allowed) {
        const Index before = static_cast<const OwnKey*>(self)->before;
        for (std::size_t i = 0; i < allowed.size(); ++i) {
            const Index key = first_key + static_cast<Index>(i);
            allowed[i] = key < before || key == before + variant;
        }
    }
    static Coverage tile(const void* self, Index, Range variants, Range keys) {
        const Index before = static_cast<const OwnKey*>(self)->before;
        if (keys.end <= before) return Coverage::all;
        const bool own = keys.begin < before + variants.end && keys.end > before + variants.begin;
        return keys.begin < before || own ? Coverage::some : Coverage::none;
    }
};

}  // namespace

Tensor ResidualRows::attend(const AttentionSublayer& half, AttentionCall call) const {
    const ModelConfig& config = model_->config();
    const Index count = residual_.dim(0);
    Tensor attended({config.heads, count, config.head_dim}), row_max({config.heads, count}),
        row_log_sum(row_max.shape());
    call.scale = static_cast<float>(half.scale);
    call.softcap = static_cast<float>(half.softcap);
    call.output = attended.heads();
    call.row_max = row_max.matrix();
    call.row_log_sum = row_log_sum.matrix();
    kernels_->attention(call);
    return attended;
}

Tensor TokenRows::attend(std::size_t layer, const SeenKeys& seen) {
    const ModelConfig& config = model_->config();
    const AttentionSublayer& half = model_->network().blocks[layer];
    const Range own{position_, position_ + variants_};
    Tensor normalised(residual_.shape()), q({config.heads, variants_, config.head_dim});
    pre_norm(*kernels_, half.attention_norm, residual_.matrix(), normalised.matrix());
    project_qkv(*kernels_, half, normalised.matrix(), rotary_of(half),
                {q.heads(), rows(seen.k.heads(), own), rows(seen.v.heads(), own)});

    const Index first = half.window > 0 ? std::max<Index>(0, position_ + 1 - half.window) : 0;
    const OwnKey own_key{position_ - first};
    AttentionCall call;
    call.q = q.heads();
    call.k = rows(seen.k.heads(), {first, own.end});
    call.v = rows(seen.v.heads(), {first, own.end});
    // A single one may attend to every key that it is given.
    if (variants_ > 1) call.rule = own_key.rule();
    if (biases_.size() > 0) {
        call.bias = biases_.heads();
        call.bias.data += first;
        call.bias.rows = variants_;
        call.bias.row_stride = 0;
    }
    return ResidualRows::attend(half, call);
}

void ResidualRows::add_heads(const AttentionSublayer& half, const Tensor& heads, Index attention) {
    Tensor output(residual_.shape()), between(residual_.shape());
    merge_heads(*kernels_, half, heads.heads(), output.matrix());
    change(attention, Site::attention_output, heads_of(output.matrix(), 1));
    add_residual(*kernels_, after_attention(half), residual_.matrix(), output.matrix(), between.matrix(),
                 residual_.matrix());
}

// Attends like the run's Record, with other queries.
Tensor ResidualRows::attend_changed(std::size_t layer, const Tensor& q) const {
    const Record& record = run_->layers()[layer].cross->attention;
    const Range own{first_, first_ + q.dim(1)};
    Tensor all(record.q().shape()), output(q.shape());
    copy_heads(q.heads(), rows(all.heads(), own));
    // Their shapes are those of a record.
    Record changed = *Record::prepare(std::move(all), record.k(), record.v(), record.spec(), *kernels_);
    changed.compute(own);
    copy_heads(rows(changed.output().heads(), own), output.heads());
    return output;
}

void ResidualRows::leave(std::size_t layer, const Tensor& heads, const Tensor* cross_k,
                         const Tensor* cross_v) {
    const ModelConfig& config = model_->config();
    const Block& block = model_->network().blocks[layer];
    const Index count = residual_.dim(0), own = number_of(layer, false), cross = number_of(layer, true);
    Tensor normalised(residual_.shape());
    if (block.parallel) pre_norm(*kernels_, block.mlp_norm, residual_.matrix(), normalised.matrix());
    add_heads(block, heads, own);
    if (block.cross) {
        Tensor q({config.heads, count, config.head_dim});
        change(cross, Site::resid_pre);
        pre_norm(*kernels_, block.cross->attention_norm, residual_.matrix(), normalised.matrix());
        project_cross_q(*kernels_, *block.cross, normalised.matrix(), q.heads());
        change(cross, Site::q, q.heads());
        AttentionCall call;
        call.q = q.heads();
        call.k = cross_k->heads();
        call.v = cross_v->heads();
        Tensor attended = run_ ? attend_changed(layer, q) : attend(*block.cross, call);
        change(cross, Site::head_output, attended.heads());
        add_heads(*block.cross, attended, cross);
    }
    change(own, Site::resid_mid);
    if (!block.parallel) pre_norm(*kernels_, block.mlp_norm, residual_.matrix(), normalised.matrix());
    Tensor output(residual_.shape()), between(residual_.shape());
    if (block.experts) {
        const Index per_token = block.experts->per_token;
        Tensor chosen({count, per_token}), weights({count, per_token}),
            hidden({count, per_token * config.d_ff});
        const ExpertRows experts{chosen.matrix(), weights.matrix()};
        choose_experts(*kernels_, *block.experts, normalised.matrix(), experts);
        run_experts(*kernels_, *block.experts, config.activation, normalised.matrix(), experts,
                    hidden.matrix(), output.matrix());
    } else {
        Tensor hidden({count, config.d_ff});
        mlp_hidden(*kernels_, block.mlp, config.activation, normalised.matrix(), hidden.matrix());
        apply(*kernels_, block.mlp.down, hidden.matrix(), output.matrix());
    }
    change(own, Site::mlp_output, heads_of(output.matrix(), 1));
    add_residual(*kernels_, after_mlp(block), residual_.matrix(), output.matrix(), between.matrix(),
                 residual_.matrix());
    change(own, Site::resid_post);
    if (layer + 1 < model_->network().blocks.size()) change(own + 1, Site::resid_pre);
}

void ResidualRows::logits(Range outputs, MatrixView<float> to) const {
    const Network& network = model_->network();
    Tensor input(residual_.shape());
    pre_norm(*kernels_, network.final_norm, residual_.matrix(), input.matrix());
    if (has_head_input(network)) input = head_input(*kernels_, network, input.matrix());
    head_logits(*kernels_, network, outputs, input.matrix(), to);
}

}  // namespace attn
