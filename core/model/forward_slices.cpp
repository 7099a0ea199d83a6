#include <algorithm>

#include "model/experts.hpp"
#include "model/forward_run.hpp"

namespace attn {

void ForwardPass::Run::enter(const Slice&) {
    const Network& network = this->network();
    const auto begin = [&](Tensor Trace::* part) {
        trace.get()->*part = continue_or_allocate(part, kept.embedded());
    };
    begin(&Trace::token_embedding_);
    if (network.position_embedding) begin(&Trace::position_embedding_);
    if (network.segment_embedding) begin(&Trace::segment_embedding_);
    if (network.embedding_norm) begin(&Trace::embedding_sum_);
    residual = next_residual(0);
}

void ForwardPass::Run::fill_rotary(const Slice& slice) {
    rotary.fill(network(), slice.tokens, trace->tokens());
}

void ForwardPass::Run::change(const Slice& slice, Site site, HeadsView<float> rows) {
    const Index number = number_of(slice);
    for (const Intervention& each : trace->interventions_)
        if (is_at(each, trace->model_->network(), number, site))
            attn::change(each.edit, rows, slice.tokens.begin);
}

Index ForwardPass::Run::number_of(const Slice& slice) const {
    const Network& model = trace->model_->network();
    const Index layers = std::ssize(network().blocks);
    if (&network() != &model) return slice.layer;
    return model.attentions() - (slice.cross ? 1 : model.encoder ? 2 : 1) * layers + slice.layer;
}

void ForwardPass::Run::embed(const Slice& slice) {
    const Network& network = this->network();
    const auto begin = static_cast<std::size_t>(slice.tokens.begin);
    const auto count = static_cast<std::size_t>(slice.tokens.size());
    const auto of_slice = [&](std::span<const std::int32_t> all) {
        return all.empty() ? all : all.subspan(begin, count);
    };
    attn::embed(*trace->kernels_, network, of_slice(trace->ids_), of_slice(trace->segments_),
                of_slice(positions),
                {.token = part(trace->token_embedding_, slice),
                 .position = part(trace->position_embedding_, slice),
                 .segment = part(trace->segment_embedding_, slice),
                 .sum = part(trace->embedding_sum_, slice),
                 .residual = part(residual, slice)});
    change(slice, Site::resid_pre, part(residual, slice));
}

void ForwardPass::Run::enter_attention(const Slice& slice) {
    const ModelConfig& config = trace->model_->config();
    const Record* attention = before ? &attention_before(slice).attention : nullptr;
    const BlockStep step = of_half(BlockStep::project, slice.cross);
    const auto heads = [&](const Tensor& (Record::*of)() const, Index count) {
        return continue_or_allocate(attention ? &(attention->*of)() : nullptr, 1, kept_in(slice.layer, step),
                                    {count, trace->tokens(), config.head_dim});
    };
    const auto of_encoded = [&](const Tensor& (Record::*of)() const) {
        const Index n = trace->encoder_->tokens();
        return attention ? (attention->*of)().continued(1, kept.encoded(slice.layer), n, n)
                         : Tensor({config.kv_heads, n, config.head_dim});
    };
    normalised = continue_or_allocate(slice, step, &AttentionTrace::attention_input, config.d_model);
    q = heads(&Record::q, config.heads);
    k = slice.cross ? of_encoded(&Record::k) : heads(&Record::k, config.kv_heads);
    v = slice.cross ? of_encoded(&Record::v) : heads(&Record::v, config.kv_heads);
}

void ForwardPass::Run::project(const Slice& slice) {
    const MatrixView<float> input = rows(normalised.matrix(), slice.tokens);
    const HeadsView<float> of_q = rows(q.heads(), slice.tokens);
    pre_norm(*trace->kernels_, half(slice).attention_norm, rows(residual.matrix(), slice.tokens), input);
    if (slice.cross) {
        project_cross_q(*trace->kernels_, half(slice), input, of_q);
    } else {
        const HeadsView<float> of_k = rows(k.heads(), slice.tokens), of_v = rows(v.heads(), slice.tokens);
        project_qkv(*trace->kernels_, half(slice), input, rotary.of(half(slice), slice.tokens),
                    {of_q, of_k, of_v});
        change(slice, Site::k, of_k);
        change(slice, Site::v, of_v);
    }
    change(slice, Site::q, of_q);
}

void ForwardPass::Run::project_encoded(const Slice& slice) {
    const HeadsView<float> of_k = rows(k.heads(), slice.tokens), of_v = rows(v.heads(), slice.tokens);
    project_cross_kv(*trace->kernels_, half(slice), rows(trace->encoder_->final_norm_.matrix(), slice.tokens),
                     of_k, of_v);
    change(slice, Site::k, of_k);
    change(slice, Site::v, of_v);
}

void ForwardPass::Run::prepare(const Slice& slice) {
    const std::vector<Intervention>& interventions = trace->interventions_;
    const Index number = number_of(slice);
    AttentionSpec spec;
    spec.scale = half(slice).scale;
    spec.softcap = half(slice).softcap;
    const bool masked = trace->mask_ && (trace->mask_->kind == AttentionKind::cross) == slice.cross;
    spec.mask = changed_mask(masked ? trace->mask_->mask : mask_of(half(slice)), interventions, number,
                             q.dim(0), q.dim(1), k.dim(1));
    spec.edits = cell_edits(interventions, number);
    if (!slice.cross) spec.bias = bias;
    auto record =
        Record::prepare(std::move(q), std::move(k), std::move(v), std::move(spec), *trace->kernels_);
    if (!record) {
        failure = record.error();
        return;
    }
    const Index l = slice.layer, d = trace->model_->config().d_model, d_ff = trace->model_->config().d_ff;
    const BlockStep attend = of_half(BlockStep::attend, slice.cross),
                    leave = of_half(BlockStep::leave, slice.cross);
    if (before) record->take_rows(attention_before(slice).attention, kept_in(l, attend), capacity);
    const auto has_between = [](const SublayerNorms& norms) {
        return norms.post_residual_norm || norms.post_sublayer_norm;
    };
    AttentionTrace here{
        .resid_pre = std::move(residual),
        .attention_input = std::move(normalised),
        .attention = std::move(*record),
        .attention_output = continue_or_allocate(slice, leave, &AttentionTrace::attention_output, d),
        .attention_between = has_between(after_attention(half(slice)))
                                 ? continue_or_allocate(slice, leave, &AttentionTrace::attention_between, d)
                                 : Tensor()};
    if (slice.cross) {
        layer(slice).cross = std::move(here);
        residual = next_residual(l + 1);
        return;
    }
    const Block& at = block(slice);
    const Index experts = at.experts ? at.experts->per_token : 0;
    const auto of_experts = [&](Tensor LayerTrace::* which) {
        return at.experts ? continue_or_allocate(l, BlockStep::mlp, which, experts) : Tensor();
    };
    LayerTrace& added = trace->layers_.emplace_back(std::move(here));
    added.resid_mid = continue_or_allocate(l, leave_step(at), &LayerTrace::resid_mid, d);
    added.mlp_input = continue_or_allocate(l, leave_step(at), &LayerTrace::mlp_input, d);
    added.chosen_experts = of_experts(&LayerTrace::chosen_experts);
    added.expert_weights = of_experts(&LayerTrace::expert_weights);
    added.mlp_hidden =
        continue_or_allocate(l, hidden_step(at), &LayerTrace::mlp_hidden, at.experts ? experts * d_ff : d_ff);
    added.mlp_output = continue_or_allocate(l, BlockStep::mlp, &LayerTrace::mlp_output, d);
    if (has_between(after_mlp(at)))
        added.mlp_between = continue_or_allocate(l, BlockStep::mlp, &LayerTrace::mlp_between, d);
    residual = at.cross ? continue_or_allocate({.work = nullptr, .layer = l, .tokens = {}, .cross = true},
                                               BlockStep::leave, &AttentionTrace::resid_pre, d)
                        : next_residual(l + 1);
}

void ForwardPass::Run::attend(const Slice& slice) {
    Record& record = attention(slice).attention;
    record.compute(slice.tokens);
    change(slice, Site::head_output, rows(record.output_to_change(), slice.tokens));
}

void ForwardPass::Run::leave_attention(const Slice& slice) {
    LayerTrace& l = layer(slice);
    AttentionTrace& of = attention(slice);
    const bool cross_follows = !slice.cross && block(slice).cross;
    const auto output = rows(of.attention_output.matrix(), slice.tokens);
    const auto sum = rows((cross_follows ? residual : l.resid_mid).matrix(), slice.tokens);
    merge_heads(*trace->kernels_, half(slice), rows(of.attention.output().heads(), slice.tokens), output);
    change(slice, Site::attention_output, output);
    const MatrixView<float> resid_pre = rows(of.resid_pre.matrix(), slice.tokens);
    add_residual(*trace->kernels_, after_attention(half(slice)), resid_pre, output,
                 part(of.attention_between, slice), sum);
    if (cross_follows) {
        Slice of_cross = slice;
        of_cross.cross = true;
        return change(of_cross, Site::resid_pre, sum);
    }
    change(slice, Site::resid_mid, sum);
    pre_norm(*trace->kernels_, block(slice).mlp_norm, block(slice).parallel ? resid_pre : sum,
             rows(l.mlp_input.matrix(), slice.tokens));
}

void ForwardPass::Run::fill_hidden(const Slice& slice) {
    LayerTrace& l = layer(slice);
    mlp_hidden(*trace->kernels_, block(slice).mlp, trace->model_->config().activation,
               rows(l.mlp_input.matrix(), slice.tokens), rows(l.mlp_hidden.matrix(), slice.tokens));
}

void ForwardPass::Run::leave_mlp(const Slice& slice) {
    LayerTrace& l = layer(slice);
    apply(*trace->kernels_, block(slice).mlp.down, rows(l.mlp_hidden.matrix(), slice.tokens),
          rows(l.mlp_output.matrix(), slice.tokens));
    leave_block(slice);
}

void ForwardPass::Run::run_experts(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const ConstMatrix input = rows(l.mlp_input.matrix(), slice.tokens);
    const ExpertRows experts{part(l.chosen_experts, slice), part(l.expert_weights, slice)};
    choose_experts(*trace->kernels_, *block(slice).experts, input, experts);
    attn::run_experts(*trace->kernels_, *block(slice).experts, trace->model_->config().activation, input,
                      experts, part(l.mlp_hidden, slice), part(l.mlp_output, slice));
    leave_block(slice);
}

void ForwardPass::Run::leave_block(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const MatrixView<float> output = rows(l.mlp_output.matrix(), slice.tokens),
                            sum = rows(residual.matrix(), slice.tokens);
    change(slice, Site::mlp_output, output);
    add_residual(*trace->kernels_, after_mlp(block(slice)), rows(l.resid_mid.matrix(), slice.tokens), output,
                 part(l.mlp_between, slice), sum);
    change(slice, Site::resid_post, sum);
    Slice above = slice;
    if (++above.layer < std::ssize(network().blocks)) change(above, Site::resid_pre, sum);
}

void ForwardPass::Run::leave(const Slice&) {
    trace->final_residual_ = std::move(residual);
    trace->final_norm_ = continue_or_allocate(&Trace::final_norm_, kept.at_end());
    const Network& network = this->network();
    if (has_head_input(network))
        trace->head_input_ = continue_or_allocate(before ? &before->head_input_ : nullptr, 0, kept.at_end(),
                                                  width(network.head.weight.in));
}

void ForwardPass::Run::finish(const Slice& slice) {
    const Network& network = this->network();
    const MatrixView<float> normal = part(trace->final_norm_, slice);
    pre_norm(*trace->kernels_, network.final_norm, rows(trace->final_residual_.matrix(), slice.tokens),
             normal);
    if (has_head_input(network))
        copy(head_input(*trace->kernels_, network, normal).matrix(), part(trace->head_input_, slice));
}

}  // namespace attn
