#include "model/head_projection.hpp"

#include "model/block.hpp"
#include "model/explain.hpp"

namespace attn {

HeadProjection::Part projection_part(const Model& model, Stage stage, Index layer, Index head) {
    const QkvColumn first = qkv_column(model, stage, layer, head, 0);
    const WeightView& all = first.linear->weight;
    const Index width = model.config().head_dim;
    const auto begin = static_cast<std::size_t>(first.out), count = static_cast<std::size_t>(width);
    HeadProjection::Part part{.weight = all, .bias = first.linear->bias.values(), .copied = {}};
    part.weight.out = width;
    if (!part.bias.empty()) part.bias = part.bias.subspan(begin, count);
    if (all.layout == WeightView::Layout::out_in) {
        part.weight = rows(all, {first.out, first.out + width});
        return part;
    }
    part.copied.resize(static_cast<std::size_t>(all.in) * count);
    for (Index row = 0; row < all.in; ++row)
        read_row(all, row, first.out,
                 std::span(part.copied).subspan(static_cast<std::size_t>(row) * count, count));
    return part;
}

LinearView HeadProjection::Part::view() const {
    LinearView linear{weight, bias};
    if (!copied.empty()) {
        linear.weight.data = std::as_bytes(std::span(copied)).data();
        linear.weight.dtype = DType::f32;
    }
    return linear;
}

HeadProjection head_projection(const Model& model, Index layer, Index head) {
    const Index kv_head = head / (model.config().heads / model.config().kv_heads);
    return {projection_part(model, Stage::q, layer, head), projection_part(model, Stage::k, layer, kv_head),
            projection_part(model, Stage::v, layer, kv_head)};
}

namespace {

// How many heads the norm of q or k takes together, from the first on; 1: each on its own.
Index heads_together(const std::optional<Norm>& norm, Index width) {
    return norm ? norm->gain.size() / width : 1;
}
const std::optional<Norm>& norm_of(const AttentionSublayer& half, Stage stage) {
    return stage == Stage::q ? half.q_norm : half.k_norm;
}
// What Q or K is made of.
ConstMatrix inputs_of(const Trace& trace, Stage stage, Index layer, Range tokens) {
    const LayerAttention at = trace.attention(layer);
    return rows((stage == Stage::q ? at.run.attention_input : at.key_input).matrix(), tokens);
}

}  // namespace

Tensor projected_rows(const Kernels& kernels, const Model& model, Stage stage, Index layer, Index head,
                      ConstMatrix inputs) {
    const Index width = model.config().head_dim,
                together = heads_together(norm_of(model.network().attention(layer), stage), width),
                first = together == 1 ? head : 0;
    Tensor all({inputs.rows, together * width});
    for (Index i = 0; i < together; ++i) {
        const HeadProjection::Part part = projection_part(model, stage, layer, first + i);
        apply(kernels, part.view(), inputs, columns(all.matrix(), i * width, width));
    }
    return all;
}

Tensor rows_pre_rope(const Kernels& kernels, const Model& model, Stage stage, Index layer, Index head,
                     ConstMatrix inputs) {
    const std::optional<Norm>& norm = norm_of(model.network().attention(layer), stage);
    const Index width = model.config().head_dim;
    Tensor all = projected_rows(kernels, model, stage, layer, head, inputs), own({1, inputs.rows, width});
    if (norm) normalise(kernels, *norm, all.matrix(), all.matrix());
    const Index place = heads_together(norm, width) == 1 ? 0 : head;
    copy(columns(all.matrix(), place * width, width), own.heads().head(0));
    return own;
}

Tensor projected_rows(const Trace& trace, Stage stage, Index layer, Index head, Range tokens) {
    return projected_rows(trace.kernels(), *trace.model(), stage, layer, head,
                          inputs_of(trace, stage, layer, tokens));
}
Tensor rows_pre_rope(const Trace& trace, Stage stage, Index layer, Index head, Range tokens) {
    return rows_pre_rope(trace.kernels(), *trace.model(), stage, layer, head,
                         inputs_of(trace, stage, layer, tokens));
}

}  // namespace attn
