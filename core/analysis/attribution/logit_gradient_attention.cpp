#include <algorithm>
#include <limits>

#include "analysis/attribution/block_gradient.hpp"
#include "analysis/attribution/logit_gradient.hpp"
#include "analysis/attribution/row_gradient.hpp"
#include "attention/shifted_rule.hpp"

namespace attn {

namespace {

template <class T>
HeadsView<T> heads_between(HeadsView<T> all, Range heads) {
    return {all.data + heads.begin * all.head_stride,
            heads.size(),
            all.rows,
            all.cols,
            all.head_stride,
            all.row_stride};
}

}  // namespace

void LogitGradient::leave_heads(const Slice& slice) {
    const ModelConfig& config = trace_->model()->config();
    const LayerAttention of = trace_->attention(slice.number);
    Layer& to = layers_[static_cast<std::size_t>(slice.number)];
    if (slice.part.begin == 0) {
        const Record& record = of.record();
        to.heads = Tensor(record.output().shape());
        to.attention_output = Tensor(d_residual_.shape());
        d_q_ = Tensor(record.q().shape());
        d_k_ = Tensor(record.k().shape());
        d_v_ = Tensor(record.v().shape());
        output_ = record.output(), row_max_ = record.row_max(), row_log_sum_ = record.row_log_sum();
        unchanged_.reset();
        if (is_changed(slice.number, Site::head_output)) {
            to.heads_before = Tensor(record.output().shape());
            unchanged_ = *record.prepare_under(record.spec());
        }
    }
    const MatrixView<float> d_x = rows(d_residual_.matrix(), slice.part);
    if (of.place.kind != AttentionKind::cross && block(slice).cross)
        change_back(slice.number + std::ssize(stack(slice).layers()), Site::resid_pre, heads_of(d_x, 1),
                    slice.part.begin);
    else
        change_back(slice, Site::resid_mid, d_x);
    Tensor d_output = add_residual_gradient(after_attention(of.half), of.run.attention_output,
                                            of.run.attention_between, slice.part, d_x);
    change_back(slice, Site::attention_output, d_output.matrix());
    copy(d_output.matrix(), rows(to.attention_output.matrix(), slice.part));
    Tensor side_by_side({slice.part.size(), config.heads * config.head_dim});
    input_gradient(trace_->kernels(), of.half.attention_out.weight, d_output.matrix(), side_by_side.matrix());
    copy_heads(heads_of(side_by_side.matrix(), config.heads), rows(to.heads.heads(), slice.part));
    if (!unchanged_) return;
    const HeadsView<float> before = rows(to.heads_before.heads(), slice.part);
    copy_heads(rows(to.heads.heads(), slice.part), before);
    change_back(slice.number, Site::head_output, before, slice.part.begin);
    unchanged_->compute(slice.part);
    copy_heads(rows(unchanged_->output().heads(), slice.part), rows(output_.heads(), slice.part));
}

namespace {

bool has_changed_cells(const Record& record, Index head, Index query) {
    const CellEdits& edits = *record.spec().edits;
    return touches(edits, CellEdit::Of::score, head, query) ||
           touches(edits, CellEdit::Of::weight, head, query);
}

}  // namespace

void LogitGradient::attend(const Slice& slice) {
    const Record& record = trace_->attention(slice.number).record();
    const Index shared = record.heads() / record.kv_heads();
    const Range kv = slice.part, heads{kv.begin * shared, kv.end * shared};
    const Layer& at = layers_[static_cast<std::size_t>(slice.number)];
    const Tensor& given = at.heads_before.size() > 0 ? at.heads_before : at.heads;
    Tensor unchanged = record.spec().edits ? given : Tensor();
    const Tensor& d_heads = record.spec().edits ? unchanged : given;
    // Rows whose scores or weights were changed have no weights here, and no gradient: attend_changed adds
    // theirs.
    for (Index head = heads.begin; record.spec().edits && head < heads.end; ++head)
        for (Index query = 0; query < record.queries(); ++query) {
            if (!has_changed_cells(record, head, query)) continue;
            std::fill_n(unchanged.heads().head(head).row(query), unchanged.dim(2), 0.0f);
            row_max_.matrix()(head, query) = std::numeric_limits<float>::max();
            row_log_sum_.matrix()(head, query) = 0;
        }
    const ShiftedRule mask{.rule = record.spec().mask.rule(), .head = heads.begin};
    const Bias& bias = record.spec().bias;
    const ConstHeads biases =
        bias.empty() ? ConstHeads{} : bias.view(record.heads(), record.queries(), record.keys());
    default_backward().attention({.forward = {.q = heads_between(record.q().heads(), heads),
                                              .k = heads_between(record.k().heads(), kv),
                                              .v = heads_between(record.v().heads(), kv),
                                              .scale = static_cast<float>(record.scale()),
                                              .softcap = static_cast<float>(record.spec().softcap),
                                              .rule = mask.shifted(),
                                              .bias = heads_between(biases, heads),
                                              .output = heads_between(output_.heads(), heads),
                                              .row_max = rows(row_max_.matrix(), heads),
                                              .row_log_sum = rows(row_log_sum_.matrix(), heads)},
                                  .d_output = heads_between(d_heads.heads(), heads),
                                  .d_q = heads_between(d_q_.heads(), heads),
                                  .d_k = heads_between(d_k_.heads(), kv),
                                  .d_v = heads_between(d_v_.heads(), kv)});
}

void LogitGradient::attend_changed(const Slice& slice) {
    const auto record = record_of(trace_, slice.number);
    const ConstHeads d_heads = heads_before(slice.number)->heads();
    for (Index head = 0; head < record->heads(); ++head) {
        const Index kv_head = record->kv_head(head);
        const ConstMatrix q = record->q().heads().head(head);
        const MatrixView<float> d_q = d_q_.heads().head(head), d_k = d_k_.heads().head(kv_head),
                                d_v = d_v_.heads().head(kv_head);
        for (Index query = slice.part.begin; query < slice.part.end; ++query) {
            if (!has_changed_cells(*record, head, query)) continue;
            RowLoss loss;
            const float* slopes = d_heads.head(head).row(query);
            for (Index b = 0; b < d_heads.cols; ++b) loss.along.push_back(static_cast<double>(slopes[b]));
            const auto pass = row_gradient<double>(record, head, query, loss);
            for (Index a = 0; a < q.cols; ++a)
                d_q(query, a) = static_cast<float>(pass.d_q[static_cast<std::size_t>(a)]);
            for (Index key = 0; key < record->keys(); ++key) {
                const auto j = static_cast<std::size_t>(key);
                const auto weight = static_cast<float>(pass.weight[j]),
                           slope = static_cast<float>(pass.d_raw[j]);
                for (Index a = 0; a < q.cols; ++a) d_k(key, a) += slope * q(query, a);
                for (Index b = 0; b < d_heads.cols; ++b) d_v(key, b) += weight * slopes[b];
            }
        }
    }
}

// d_input += the gradient by what these read, whose outputs lie side by side.
void LogitGradient::add_back(std::span<const Linear> linears, MatrixView<float> d_outputs,
                             MatrixView<float> d_input) const {
    Tensor back({d_input.rows, d_input.cols});
    Index column = 0;
    for (const Linear& linear : linears) {
        input_gradient(trace_->kernels(), linear.weight, columns(d_outputs, column, linear.weight.out),
                       back.matrix());
        add(back.matrix(), d_input);
        column += linear.weight.out;
    }
}

void LogitGradient::change_keys_back(const Slice& slice) {
    change_back(slice.number, Site::k, rows(d_k_.heads(), slice.part), slice.part.begin);
    change_back(slice.number, Site::v, rows(d_v_.heads(), slice.part), slice.part.begin);
}

void LogitGradient::leave_projections(const Slice& slice) {
    const Kernels& kernels = trace_->kernels();
    const ModelConfig& config = trace_->model()->config();
    const LayerAttention of = trace_->attention(slice.number);
    const bool cross = of.place.kind == AttentionKind::cross;
    const Index count = slice.part.size(), kv_heads = cross ? 0 : config.kv_heads;
    change_back(slice.number, Site::q, rows(d_q_.heads(), slice.part), slice.part.begin);
    if (!cross) change_keys_back(slice);
    Tensor side_by_side({count, (config.heads + 2 * kv_heads) * config.head_dim}),
        d_input({count, config.d_model});
    if (cross) {
        copy_heads(rows(d_q_.heads(), slice.part), heads_of(side_by_side.matrix(), config.heads));
    } else {
        const QkvRows d_qkv = qkv_of(side_by_side.matrix(), config.heads, kv_heads);
        copy_heads(rows(d_q_.heads(), slice.part), d_qkv.q);
        copy_heads(rows(d_k_.heads(), slice.part), d_qkv.k);
        copy_heads(rows(d_v_.heads(), slice.part), d_qkv.v);
        apply_rope(kernels, d_qkv, rotary_back_.of(of.half, slice.part));
        normalise_qk_back(slice, side_by_side.matrix());
    }
    add_back(std::span(of.half.qkv).first(cross ? 1 : of.half.qkv.size()), side_by_side.matrix(),
             d_input.matrix());
    pre_norm_gradient(of.half.attention_norm, rows(of.run.resid_pre.matrix(), slice.part), d_input.matrix());
    add(d_input.matrix(), rows(d_residual_.matrix(), slice.part));
    if (block(slice).parallel)
        add(rows(d_parallel_.matrix(), slice.part), rows(d_residual_.matrix(), slice.part));
}

void LogitGradient::leave_encoded(const Slice& slice) {
    const LayerAttention of = trace_->attention(slice.number);
    const Index kv_heads = d_k_.dim(0), width = d_k_.dim(2);
    change_keys_back(slice);
    Tensor side_by_side({slice.part.size(), 2 * kv_heads * width});
    const auto half = [&](Index first) {
        return heads_of(columns(side_by_side.matrix(), first * kv_heads * width, kv_heads * width), kv_heads);
    };
    copy_heads(rows(d_k_.heads(), slice.part), half(0));
    copy_heads(rows(d_v_.heads(), slice.part), half(1));
    add_back(std::span(of.half.qkv).subspan(1), side_by_side.matrix(), rows(d_encoded_.matrix(), slice.part));
}

void LogitGradient::normalise_qk_back(const Slice& slice, MatrixView<float> d_qkv) const {
    const Block& at = block(slice);
    if (!at.q_norm && !at.k_norm) return;
    // A run keeps them normalised, so what the norms read is computed again.
    Tensor read({d_qkv.rows, d_qkv.cols});
    project_side_by_side(trace_->kernels(), at, rows(layer(slice).attention_input.matrix(), slice.part),
                         read.matrix());
    const Record& record = layer(slice).attention;
    const Index q = record.heads() * record.d_k(), k = record.kv_heads() * record.d_k();
    const auto back = [&](const std::optional<Norm>& norm, Range all) {
        const Index width = norm ? norm->gain.size() : all.size();
        for (Index first = all.begin; norm && first < all.end; first += width)
            norm_gradient(*norm, columns(read.matrix(), first, width), columns(d_qkv, first, width));
    };
    back(at.q_norm, {0, q});
    back(at.k_norm, {q, q + k});
}

}  // namespace attn
