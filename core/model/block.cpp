#include "model/block.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

void fill_rotary(std::span<const double> frequencies, Index first, MatrixView<float> cosine,
                 MatrixView<float> sine) {
    for (Index row = 0; row < cosine.rows; ++row) {
        for (Index pair = 0; pair < cosine.cols; ++pair) {
            const double angle =
                static_cast<double>(first + row) * frequencies[static_cast<std::size_t>(pair)];
            cosine(row, pair) = static_cast<float>(std::cos(angle));
            sine(row, pair) = static_cast<float>(std::sin(angle));
        }
    }
}

RotaryRows rows(const RotaryTable& table, Range tokens) {
    return {rows(table.cosine.matrix(), tokens), rows(table.sine.matrix(), tokens)};
}

void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out) {
    const auto width = static_cast<std::size_t>(table.in);
    const std::size_t row_bytes = width * byte_size(table.dtype);
    for (Index row = 0; row < out.rows; ++row) {
        const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(row)]);
        convert_to_f32(table.dtype, {table.data + id * row_bytes, row_bytes}, {out.row(row), width});
    }
}

void normalise(const Kernels& kernels, const NormView& norm, ConstMatrix x, MatrixView<float> y) {
    switch (norm.kind) {
        case Norm::Kind::layer: kernels.layer_norm(x, norm.gain, norm.bias, norm.epsilon, y); break;
        case Norm::Kind::rms: kernels.rms_norm(x, norm.gain, norm.epsilon, y); break;
    }
}

void apply(const Kernels& kernels, const LinearView& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation) {
    kernels.linear(x, linear.weight, linear.bias, activation, y);
}

void input_gradient(const Kernels& kernels, const WeightView& weight, ConstMatrix dy, MatrixView<float> dx) {
    using enum WeightView::Layout;
    WeightView turned = weight;
    std::swap(turned.in, turned.out);
    turned.layout = weight.layout == in_out ? out_in : in_out;
    kernels.linear(dy, turned, {}, Activation::none, dx);
}

MatrixView<float> columns(MatrixView<float> m, Index first, Index count) {
    return {m.data + first, m.rows, count, m.row_stride};
}

HeadsView<float> heads_of(MatrixView<float> side_by_side, Index heads) {
    const Index width = side_by_side.cols / heads;
    return {side_by_side.data, heads, side_by_side.rows, width, width, side_by_side.row_stride};
}

void copy_heads(ConstHeads from, const HeadsView<float>& to) {
    for (Index row = 0; row < from.rows; ++row)
        for (Index head = 0; head < from.heads; ++head)
            std::copy_n(from.head(head).row(row), from.cols, to.head(head).row(row));
}

QkvRows qkv_of(MatrixView<float> side_by_side, Index heads, Index kv_heads) {
    const Index width = side_by_side.cols / (heads + 2 * kv_heads), q = heads * width, kv = kv_heads * width;
    return {heads_of(columns(side_by_side, 0, q), heads), heads_of(columns(side_by_side, q, kv), kv_heads),
            heads_of(columns(side_by_side, q + kv, kv), kv_heads)};
}

void turn(const Kernels& kernels, const QkvRows& qkv, const RotaryRows& rotary) {
    if (rotary.cosine.cols == 0) return;
    for (const HeadsView<float>& heads : {qkv.q, qkv.k})
        for (Index head = 0; head < heads.heads; ++head)
            kernels.rope(heads.head(head), rotary.cosine, rotary.sine, false);
}

void project_qkv(const Kernels& kernels, const Block& block, ConstMatrix normalised, const RotaryRows& rotary,
                 const QkvRows& out) {
    const Index width = (out.q.heads + out.k.heads + out.v.heads) * out.q.cols;
    Tensor side_by_side({normalised.rows, width});
    Index column = 0;
    for (const Linear& linear : block.qkv) {
        apply(kernels, linear, normalised, columns(side_by_side.matrix(), column, linear.weight.out));
        column += linear.weight.out;
    }
    const QkvRows projected = qkv_of(side_by_side.matrix(), out.q.heads, out.k.heads);
    copy_heads(projected.q, out.q);
    copy_heads(projected.k, out.k);
    copy_heads(projected.v, out.v);
    turn(kernels, out, rotary);
}

Mask mask_of(const Block& block) {
    return block.window > 0 ? Mask::causal() & Mask::window(block.window - 1, 0) : Mask::causal();
}

void merge_heads(const Kernels& kernels, const Block& block, ConstHeads heads,
                 MatrixView<float> attention_output) {
    Tensor side_by_side({heads.rows, heads.heads * heads.cols});
    copy_heads(heads, heads_of(side_by_side.matrix(), heads.heads));
    apply(kernels, block.attention_out, side_by_side.matrix(), attention_output);
}

void mlp_hidden(const Kernels& kernels, const Block& block, Activation activation, ConstMatrix normalised,
                MatrixView<float> hidden) {
    if (!block.gate) return apply(kernels, block.up, normalised, hidden, activation);
    apply(kernels, block.up, normalised, hidden);
    Tensor gate({hidden.rows, hidden.cols});
    apply(kernels, *block.gate, normalised, gate.matrix(), activation);
    for (Index row = 0; row < hidden.rows; ++row)
        for (Index column = 0; column < hidden.cols; ++column)
            hidden(row, column) *= gate.matrix()(row, column);
}

void add(ConstMatrix a, ConstMatrix b, MatrixView<float> sum) {
    for (Index row = 0; row < sum.rows; ++row)
        for (Index column = 0; column < sum.cols; ++column)
            sum(row, column) = a(row, column) + b(row, column);
}

void add(ConstMatrix a, MatrixView<float> to) {
    for (Index row = 0; row < to.rows; ++row)
        for (Index column = 0; column < to.cols; ++column) to(row, column) += a(row, column);
}

}  // namespace attn
