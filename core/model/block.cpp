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
    return {rows(table.cosine.matrix(), tokens), rows(table.sine.matrix(), tokens), table.interleaved};
}

RotaryTables::RotaryTables(const Network& network, Range positions) : first_(positions.begin) {
    for (const Rotary& rotary : network.rotary) {
        const Shape shape{positions.size(), rotary.pairs()};
        tables_.push_back({Tensor(shape), Tensor(shape), rotary.interleaved});
    }
}

void RotaryTables::fill(const Network& network, Range positions, Index text) {
    const Range here{positions.begin - first_, positions.end - first_};
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        const Rotary& rotary = network.rotary[i];
        const MatrixView<float> cosine = rows(tables_[i].cosine.matrix(), here),
                                sine = rows(tables_[i].sine.matrix(), here);
        fill_rotary(rotary.of_text(text), positions.begin, cosine, sine);
        if (rotary.magnitude == 1) continue;
        for (const MatrixView<float>& each : {cosine, sine})
            for (Index k = 0; k < each.rows * each.cols; ++k)
                each.data[k] *= static_cast<float>(rotary.magnitude);
    }
}

RotaryRows RotaryTables::of(const AttentionSublayer& half, Range positions) const {
    if (!half.rotary) return {};
    return rows(tables_[*half.rotary], {positions.begin - first_, positions.end - first_});
}

void RotaryTables::negate_sines() {
    for (RotaryTable& table : tables_)
        for (float& sine : table.sine.values()) sine = -sine;
}

bool same_rope_frequencies(const Network& network, Index tokens, Index other_tokens) {
    return std::ranges::all_of(network.rotary, [&](const Rotary& rotary) {
        return &rotary.of_text(tokens) == &rotary.of_text(other_tokens);
    });
}

void look_up(const WeightView& table, std::span<const std::int32_t> ids, MatrixView<float> out) {
    const auto width = static_cast<std::size_t>(table.in);
    for (Index row = 0; row < out.rows; ++row) {
        const Index id = ids[static_cast<std::size_t>(row)];
        read_row(table, id, 0, {out.row(row), width});
    }
}

void normalise(const Kernels& kernels, const NormView& norm, ConstMatrix x, MatrixView<float> y) {
    switch (norm.kind) {
        case Norm::Kind::layer:
            kernels.layer_norm(x, norm.gain, norm.bias, static_cast<float>(norm.epsilon), y);
            break;
        case Norm::Kind::rms: kernels.rms_norm(x, norm.gain, static_cast<float>(norm.epsilon), y); break;
    }
}

void apply(const Kernels& kernels, const LinearView& linear, ConstMatrix x, MatrixView<float> y,
           Activation activation) {
    kernels.linear(x, linear.weight, linear.bias, activation, y);
}

void input_gradient(const Kernels& kernels, const WeightView& weight, ConstMatrix dy, MatrixView<float> dx) {
    kernels.linear(dy, transposed(weight), {}, Activation::none, dx);
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

void apply_rope(const Kernels& kernels, const QkvRows& qkv, const RotaryRows& rotary) {
    if (rotary.cosine.cols == 0) return;
    for (const HeadsView<float>& heads : {qkv.q, qkv.k})
        for (Index head = 0; head < heads.heads; ++head)
            kernels.rope(heads.head(head), rotary.cosine, rotary.sine, rotary.interleaved);
}

std::vector<std::int32_t> position_rows(const Network& network, std::span<const std::int32_t> ids) {
    std::vector<std::int32_t> rows;
    auto next = static_cast<std::int32_t>(network.first_position);
    for (const std::int32_t id : ids) rows.push_back(id == network.padding_id ? id : next++);
    return rows;
}

void embed(const Kernels& kernels, const Network& network, std::span<const std::int32_t> ids,
           std::span<const std::int32_t> segments, std::span<const std::int32_t> positions,
           const EmbeddingRows& to) {
    if (network.project_in) {
        Tensor narrow({to.token.rows, network.token_embedding.in});
        look_up(network.token_embedding, ids, narrow.matrix());
        apply(kernels, *network.project_in, narrow.matrix(), to.token);
    } else {
        look_up(network.token_embedding, ids, to.token);
    }
    if (network.embedding_scale != 1)
        for (Index row = 0; row < to.token.rows; ++row)
            for (Index column = 0; column < to.token.cols; ++column)
                to.token(row, column) *= static_cast<float>(network.embedding_scale);
    const MatrixView<float> sum = network.embedding_norm ? to.sum : to.residual;
    copy(to.token, sum);
    if (network.position_embedding) {
        look_up(*network.position_embedding, positions, to.position);
        add(to.position, sum);
    }
    if (network.segment_embedding) {
        const std::vector<std::int32_t> all_first(ids.size());
        look_up(*network.segment_embedding, segments.empty() ? all_first : segments, to.segment);
        add(to.segment, sum);
    }
    if (network.embedding_norm) normalise(kernels, *network.embedding_norm, sum, to.residual);
}

void pre_norm(const Kernels& kernels, const std::optional<Norm>& norm, ConstMatrix residual,
              MatrixView<float> input) {
    if (norm)
        normalise(kernels, *norm, residual, input);
    else
        copy(residual, input);
}

namespace {

// In place, in groups of as many columns as the norm has gains.
void normalise_groups(const Kernels& kernels, const std::optional<Norm>& norm, MatrixView<float> rows) {
    if (!norm) return;
    const Index width = norm->gain.size();
    for (Index first = 0; first < rows.cols; first += width)
        normalise(kernels, *norm, columns(rows, first, width), columns(rows, first, width));
}

}  // namespace

void project_side_by_side(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                          MatrixView<float> out) {
    Index column = 0;
    for (const Linear& linear : half.qkv) {
        apply(kernels, linear, normalised, columns(out, column, linear.weight.out));
        column += linear.weight.out;
    }
}

void project_qkv(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                 const RotaryRows& rotary, const QkvRows& out) {
    const Index width = (out.q.heads + out.k.heads + out.v.heads) * out.q.cols;
    Tensor side_by_side({normalised.rows, width});
    project_side_by_side(kernels, half, normalised, side_by_side.matrix());
    const Index q = out.q.heads * out.q.cols, k = out.k.heads * out.k.cols;
    normalise_groups(kernels, half.q_norm, columns(side_by_side.matrix(), 0, q));
    normalise_groups(kernels, half.k_norm, columns(side_by_side.matrix(), q, k));
    const QkvRows projected = qkv_of(side_by_side.matrix(), out.q.heads, out.k.heads);
    copy_heads(projected.q, out.q);
    copy_heads(projected.k, out.k);
    copy_heads(projected.v, out.v);
    apply_rope(kernels, out, rotary);
}

namespace {

void project_heads(const Kernels& kernels, const Linear& linear, ConstMatrix rows,
                   const HeadsView<float>& heads) {
    Tensor side_by_side({rows.rows, linear.weight.out});
    apply(kernels, linear, rows, side_by_side.matrix());
    copy_heads(heads_of(side_by_side.matrix(), heads.heads), heads);
}

}  // namespace

void project_cross_q(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix normalised,
                     const HeadsView<float>& q) {
    project_heads(kernels, half.qkv[0], normalised, q);
}

void project_cross_kv(const Kernels& kernels, const AttentionSublayer& half, ConstMatrix encoded,
                      const HeadsView<float>& k, const HeadsView<float>& v) {
    project_heads(kernels, half.qkv[1], encoded, k);
    project_heads(kernels, half.qkv[2], encoded, v);
}

Mask mask_of(const AttentionSublayer& half) {
    const Mask before = half.causal ? Mask::causal() : Mask::everything();
    const Index reach = half.window - 1;
    return half.window > 0 ? before & Mask::window(reach, half.causal ? 0 : reach) : before;
}

Tensor relative_biases(const RelativeBias& bias, Range offsets) {
    std::vector<std::int32_t> of_offsets;
    for (Index offset = offsets.begin; offset < offsets.end; ++offset)
        of_offsets.push_back(static_cast<std::int32_t>(
            relative_bucket(bias.buckets, std::max<Index>(-offset, 0), std::max<Index>(offset, 0))));
    const Index heads = bias.table.in;
    Tensor by_offset({offsets.size(), heads}), by_head({heads, 1, offsets.size()});
    look_up(bias.table, of_offsets, by_offset.matrix());
    for (Index head = 0; head < heads; ++head)
        for (Index i = 0; i < offsets.size(); ++i)
            by_head.heads().head(head)(0, i) = by_offset.matrix()(i, head);
    return by_head;
}

Bias relative_bias_of(const RelativeBias& bias, Index tokens) {
    return {std::make_shared<const Tensor>(relative_biases(bias, {1 - tokens, tokens})), tokens - 1};
}

void merge_heads(const Kernels& kernels, const AttentionSublayer& half, ConstHeads heads,
                 MatrixView<float> attention_output) {
    Tensor side_by_side({heads.rows, heads.heads * heads.cols});
    copy_heads(heads, heads_of(side_by_side.matrix(), heads.heads));
    apply(kernels, half.attention_out, side_by_side.matrix(), attention_output);
}

void mlp_hidden(const Kernels& kernels, const Mlp& mlp, Activation activation, ConstMatrix normalised,
                MatrixView<float> hidden) {
    if (!mlp.gate) return apply(kernels, mlp.up, normalised, hidden, activation);
    apply(kernels, mlp.up, normalised, hidden);
    Tensor gate({hidden.rows, hidden.cols});
    apply(kernels, *mlp.gate, normalised, gate.matrix(), activation);
    for (Index row = 0; row < hidden.rows; ++row)
        for (Index column = 0; column < hidden.cols; ++column)
            hidden(row, column) *= gate.matrix()(row, column);
}

void add_residual(const Kernels& kernels, const SublayerNorms& norms, ConstMatrix residual,
                  ConstMatrix output, MatrixView<float> between, MatrixView<float> to) {
    if (norms.post_residual_norm) {
        add(residual, output, between);
        normalise(kernels, *norms.post_residual_norm, between, to);
    } else if (norms.post_sublayer_norm) {
        normalise(kernels, *norms.post_sublayer_norm, output, between);
        add(residual, between, to);
    } else {
        add(residual, output, to);
    }
}

bool has_head_input(const Network& network) {
    return network.project_out || network.head_transform || network.head_scale != 1;
}

Tensor head_input(const Kernels& kernels, const Network& network, ConstMatrix normalised) {
    Tensor input({normalised.rows, network.head.weight.in});
    if (network.head_scale != 1) {
        copy(normalised, input.matrix());
        for (float& value : input.values()) value *= static_cast<float>(network.head_scale);
    } else if (network.project_out) {
        apply(kernels, *network.project_out, normalised, input.matrix());
    } else {
        const HeadTransform& transform = *network.head_transform;
        Tensor active(input.shape());
        apply(kernels, transform.dense, normalised, active.matrix(), transform.activation);
        normalise(kernels, transform.norm, active.matrix(), input.matrix());
    }
    return input;
}

void head_logits(const Kernels& kernels, const Network& network, Range outputs, ConstMatrix input,
                 MatrixView<float> logits) {
    LinearView part = network.head;
    part.weight = rows(part.weight, outputs);
    if (!part.bias.empty())
        part.bias = part.bias.subspan(static_cast<std::size_t>(outputs.begin),
                                      static_cast<std::size_t>(outputs.size()));
    apply(kernels, part, input, logits);
    if (network.logit_cap > 0)
        for (Index row = 0; row < logits.rows; ++row)
            kernels.soft_cap({logits.row(row), static_cast<std::size_t>(logits.cols)},
                             static_cast<float>(network.logit_cap));
}

void copy(ConstMatrix from, MatrixView<float> to) {
    for (Index row = 0; row < to.rows; ++row) std::copy_n(from.row(row), from.cols, to.row(row));
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
