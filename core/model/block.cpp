#include "model/block.hpp"

#include <algorithm>
#include <cmath>

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

void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out) {
    const auto width = static_cast<std::size_t>(table.in);
    const std::size_t row_bytes = width * byte_size(table.dtype);
    for (Index row = 0; row < out.rows; ++row) {
        const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(row)]);
        convert_to_f32(table.dtype, {table.data + id * row_bytes, row_bytes}, {out.row(row), width});
    }
}

void normalise(const Kernels& kernels, const Norm& norm, ConstMatrix x, MatrixView<float> y) {
    switch (norm.kind) {
        case Norm::Kind::layer:
            kernels.layer_norm(x, norm.gain.values(), norm.bias.values(), norm.epsilon, y);
            break;
        case Norm::Kind::rms: kernels.rms_norm(x, norm.gain.values(), norm.epsilon, y); break;
    }
}

namespace {

// Columns from `first` on to the heads' rows; gives the first column after them.
Index split_heads(ConstMatrix side_by_side, Index first, const HeadsView<float>& heads) {
    for (Index head = 0; head < heads.heads; ++head, first += heads.cols)
        for (Index row = 0; row < heads.rows; ++row)
            std::copy_n(side_by_side.row(row) + first, heads.cols, heads.head(head).row(row));
    return first;
}

void turn(const Kernels& kernels, const HeadsView<float>& heads, ConstMatrix cosine, ConstMatrix sine) {
    for (Index head = 0; head < heads.heads; ++head) kernels.rope(heads.head(head), cosine, sine, false);
}

}  // namespace

void project_qkv(const Kernels& kernels, const Block& block, ConstMatrix normalised, ConstMatrix cosine,
                 ConstMatrix sine, const QkvRows& out) {
    const Index width = (out.q.heads + out.k.heads + out.v.heads) * out.q.cols;
    Tensor side_by_side({normalised.rows, width});
    const MatrixView<float> all = side_by_side.matrix();
    Index column = 0;
    for (const Linear& linear : block.qkv) {
        apply(kernels, linear, normalised, {all.data + column, all.rows, linear.weight.out, all.row_stride});
        column += linear.weight.out;
    }
    column = split_heads(all, 0, out.q);
    column = split_heads(all, column, out.k);
    split_heads(all, column, out.v);
    if (cosine.cols > 0) {
        turn(kernels, out.q, cosine, sine);
        turn(kernels, out.k, cosine, sine);
    }
}

void merge_heads(const Kernels& kernels, const Block& block, ConstHeads heads,
                 MatrixView<float> attention_output) {
    Tensor side_by_side({heads.rows, heads.heads * heads.cols});
    for (Index row = 0; row < heads.rows; ++row)
        for (Index head = 0; head < heads.heads; ++head)
            std::copy_n(heads.head(head).row(row), heads.cols,
                        side_by_side.matrix().row(row) + head * heads.cols);
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

void apply(const Kernels& kernels, const Linear& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation) {
    kernels.linear(x, linear.weight, linear.bias.values(), activation, y);
}

void add(ConstMatrix a, ConstMatrix b, MatrixView<float> sum) {
    for (Index row = 0; row < sum.rows; ++row)
        for (Index column = 0; column < sum.cols; ++column)
            sum(row, column) = a(row, column) + b(row, column);
}

}  // namespace attn
