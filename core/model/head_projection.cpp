#include "model/head_projection.hpp"

#include "model/explain.hpp"

namespace attn {

namespace {

HeadProjection::Part part_of(const Model& model, Stage stage, Index layer, Index head) {
    const QkvColumn first = qkv_column(model, stage, layer, head, 0);
    const WeightView& all = first.linear->weight;
    const Index width = model.config().head_dim;
    const auto in = static_cast<std::size_t>(all.in), out = static_cast<std::size_t>(all.out),
               begin = static_cast<std::size_t>(first.out), size = byte_size(all.dtype);
    const auto count = static_cast<std::size_t>(width);
    HeadProjection::Part part{.weight = all, .bias = first.linear->bias.values(), .copied = {}};
    part.weight.out = width;
    if (!part.bias.empty()) part.bias = part.bias.subspan(begin, count);
    if (all.layout == WeightView::Layout::out_in) {
        part.weight.data += begin * in * size;
        return part;
    }
    part.copied.resize(in * count);
    for (std::size_t row = 0; row < in; ++row)
        convert_to_f32(all.dtype, {all.data + (row * out + begin) * size, count * size},
                       std::span(part.copied).subspan(row * count, count));
    return part;
}

}  // namespace

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
    return {part_of(model, Stage::q, layer, head), part_of(model, Stage::k, layer, kv_head),
            part_of(model, Stage::v, layer, kv_head)};
}

}  // namespace attn
