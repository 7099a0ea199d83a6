#include "analysis/attribution/logit_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

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

double loss_of(std::span<const float> logits, const LogitLoss& loss) {
    const auto at = [&](std::int32_t id) {
        return static_cast<double>(logits[static_cast<std::size_t>(id)]);
    };
    return at(loss.raise) - (loss.over ? at(*loss.over) : 0);
}

double loss_in(const Trace& trace, const LogitLoss& loss) {
    const Index row = loss.row.value_or(trace.tokens() - 1);
    const auto at = [&](std::int32_t id) {
        return static_cast<double>(trace.logits({row, row + 1}, {id, id + 1}).data()[0]);
    };
    return at(loss.raise) - (loss.over ? at(*loss.over) : 0);
}

Status check_loss(const Trace& trace, const LogitLoss& loss) {
    const Index vocabulary = trace.model()->network().head.weight.out;
    for (const std::int32_t id : {loss.raise, loss.over.value_or(0)})
        if (id < 0 || id >= vocabulary)
            return Error{"Token " + std::to_string(id) + " is outside the vocabulary of " +
                         std::to_string(vocabulary) + "."};
    if (loss.row && (*loss.row < 0 || *loss.row >= trace.tokens()))
        return Error{"There is no token " + std::to_string(*loss.row) + " in a text of " +
                     std::to_string(trace.tokens()) + "."};
    return ok();
}

Result<LogitGradient> LogitGradient::start(std::shared_ptr<const Trace> trace, const LogitLoss& loss,
                                           double slice_operations) {
    if (Status fits = check_loss(*trace, loss); !fits) return fits.error();
    return LogitGradient(std::move(trace), loss, slice_operations);
}

LogitGradient::LogitGradient(std::shared_ptr<const Trace> trace, const LogitLoss& loss,
                             double slice_operations)
    : trace_(std::move(trace)), loss_(loss), slice_operations_(slice_operations) {
    layers_.resize(static_cast<std::size_t>(trace_->attentions()));
    d_residual_ = Tensor(trace_->final_residual().shape());
    turn_back(*trace_);
    slices_.push_back({&LogitGradient::leave_head, {}, 0, {}});
    const Index own = std::ssize(trace_->layers()), all = trace_->attentions();
    const bool reads_encoder = trace_->encoder() != nullptr;
    const Index encoders = reads_encoder ? trace_->encoder()->attentions() : 0;
    if (reads_encoder) d_encoded_ = Tensor(trace_->encoder()->final_norm().shape());
    for (Index l = own; l-- > 0;) {
        plan_mlp(encoders + l);
        if (reads_encoder) plan_attention(all - own + l);
        plan_attention(encoders + l);
    }
    for (Index number = encoders; number-- > 0;) {
        if (number + 1 == encoders)
            slices_.push_back({&LogitGradient::enter_encoder, {AttentionKind::encoder, number}, number, {}});
        plan_mlp(number);
        plan_attention(number);
    }
}

void LogitGradient::turn_back(const Trace& stack) {
    const Range all{0, stack.tokens()};
    rotary_back_ = RotaryTables(stack.network(), all);
    rotary_back_.fill(stack.network(), all, all.end);
    rotary_back_.negate_sines();
}

void LogitGradient::plan(void (LogitGradient::*work)(const Slice&), Index number, Index n,
                         double operations_per_token) {
    const double most = std::max(1.0, slice_operations_ / operations_per_token);
    const Index step = most < static_cast<double>(n) ? static_cast<Index>(most) : n;
    const AttentionPlace place = trace_->attention(number).place;
    for (Index begin = 0; begin < n; begin += step)
        slices_.push_back({work, place, number, {begin, std::min(n, begin + step)}});
}

void LogitGradient::plan_mlp(Index number) {
    const ModelConfig& config = trace_->model()->config();
    const auto d = static_cast<double>(config.d_model), d_ff = static_cast<double>(config.d_ff);
    const LayerAttention of = trace_->attention(number);
    // The hidden layer is computed again, once or with its gate, before the way back through all its matrices.
    const Block& block = of.queries.network().blocks[static_cast<std::size_t>(of.place.layer)];
    const double products = block.experts    ? 6 * static_cast<double>(block.experts->per_token)
                            : block.mlp.gate ? 5
                                             : 3;
    plan(&LogitGradient::leave_mlp, number, of.queries.tokens(), 2 * products * d * d_ff);
}

void LogitGradient::plan_attention(Index number) {
    const ModelConfig& config = trace_->model()->config();
    const auto d = static_cast<double>(config.d_model);
    const auto q_width = static_cast<double>(config.heads * config.head_dim);
    const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
    const LayerAttention of = trace_->attention(number);
    const bool cross = of.place.kind == AttentionKind::cross;
    const Index n = of.queries.tokens();
    const double of_row = q_width * static_cast<double>(of.keys.tokens());
    plan(&LogitGradient::leave_heads, number, n,
         2 * q_width * d + (is_changed(number, Site::head_output) ? 4 * of_row : 0));
    for (Index kv_head = 0; kv_head < config.kv_heads; ++kv_head)
        slices_.push_back({&LogitGradient::attend, of.place, number, {kv_head, kv_head + 1}});
    // In double and without vectors, which takes about ten times as long for each operation.
    if (of.record().spec().edits) plan(&LogitGradient::attend_changed, number, n, 100 * of_row);
    plan(&LogitGradient::leave_projections, number, n, 2 * d * (cross ? q_width : q_width + 2 * kv_width));
    if (cross) plan(&LogitGradient::leave_encoded, number, of.keys.tokens(), 4 * d * kv_width);
}

const Block& LogitGradient::block(const Slice& slice) const {
    return stack(slice).network().blocks[static_cast<std::size_t>(slice.place.layer)];
}
const LayerTrace& LogitGradient::layer(const Slice& slice) const {
    return stack(slice).layers()[static_cast<std::size_t>(slice.place.layer)];
}

bool LogitGradient::is_changed(Index number, Site site) const {
    return std::ranges::any_of(trace_->interventions(), [&](const Intervention& each) {
        return is_at(each, trace_->model()->network(), number, site);
    });
}

void LogitGradient::change_back(Index number, Site site, HeadsView<float> gradient, Index first_row) const {
    for (const Intervention& each : std::views::reverse(trace_->interventions()))
        if (is_at(each, trace_->model()->network(), number, site))
            attn::change_back(each.edit, gradient, first_row);
}
void LogitGradient::change_back(const Slice& slice, Site site, MatrixView<float> gradient) const {
    change_back(slice.number, site, heads_of(gradient, 1), slice.part.begin);
}

bool LogitGradient::step(Index layer) {
    if (heads(layer) || next_ == slices_.size()) return false;
    const Slice slice = slices_[next_++];
    (this->*slice.work)(slice);
    // A layer's heads are complete when the work on its attention begins.
    if (next_ < slices_.size() && slices_[next_].work == &LogitGradient::attend)
        layers_[static_cast<std::size_t>(slices_[next_].number)].complete = true;
    return !heads(layer);
}

const Tensor* LogitGradient::heads(Index layer) const {
    const Layer& at = layers_[static_cast<std::size_t>(layer)];
    return at.complete ? &at.heads : nullptr;
}
const Tensor* LogitGradient::heads_before(Index layer) const {
    const Layer& at = layers_[static_cast<std::size_t>(layer)];
    if (!at.complete) return nullptr;
    return at.heads_before.size() > 0 ? &at.heads_before : &at.heads;
}
const Tensor* LogitGradient::attention_output(Index layer) const {
    const Layer& at = layers_[static_cast<std::size_t>(layer)];
    return at.complete ? &at.attention_output : nullptr;
}

namespace {

// d becomes the gradient by x, of the gradient by what the norm gives.
void normalise_back(const Norm& norm, ConstMatrix x, MatrixView<float> d) {
    const BackwardKernels& backward = default_backward();
    switch (norm.kind) {
        case Norm::Kind::layer:
            backward.layer_norm(x, norm.gain.values(), static_cast<float>(norm.epsilon), d, d, {}, {});
            break;
        case Norm::Kind::rms:
            backward.rms_norm(x, norm.gain.values(), static_cast<float>(norm.epsilon), d, d, {});
            break;
    }
}
void enter_half_back(const std::optional<Norm>& norm, ConstMatrix x, MatrixView<float> d) {
    if (norm) normalise_back(*norm, x, d);
}

}  // namespace

// Of all logits, those of the tokens alone are in L.
void LogitGradient::add_row_of_head(std::int32_t token, float slope, std::span<float> d_input) const {
    const Network& network = trace_->model()->network();
    const WeightView& weight = network.head.weight;
    std::vector<float> row(d_input.size());
    convert_to_f32(weight.dtype, weight.data, token * weight.in, row);
    if (network.logit_cap > 0) {  // d cap · tanh(z / cap) / dz = 1 − (logit / cap)²
        const Index at = loss_.row.value_or(trace_->tokens() - 1);
        const float share = trace_->logits({at, at + 1}, {token, token + 1}).data()[0] /
                            static_cast<float>(network.logit_cap);
        slope *= 1 - share * share;
    }
    for (std::size_t i = 0; i < row.size(); ++i) d_input[i] += slope * row[i];
}

void LogitGradient::leave_head(const Slice&) {
    const Network& network = trace_->model()->network();
    const Kernels& kernels = trace_->kernels();
    const Index row = loss_.row.value_or(trace_->tokens() - 1);
    const Range one{row, row + 1};
    const MatrixView<float> d = rows(d_residual_.matrix(), one);
    const ConstMatrix normalised = rows(trace_->final_norm().matrix(), one);
    Tensor d_input({1, network.head.weight.in});
    value_ = loss_in(*trace_, loss_);
    add_row_of_head(loss_.raise, 1, d_input.values());
    if (loss_.over) add_row_of_head(*loss_.over, -1, d_input.values());
    if (network.project_out) {
        input_gradient(kernels, network.project_out->weight, d_input.matrix(), d);
    } else if (network.head_transform) {
        const auto& [dense, activation, norm] = *network.head_transform;
        Tensor z(d_input.shape());
        apply(kernels, dense, normalised, z.matrix());
        Tensor active = z;
        kernels.activate(activation, active.values());
        normalise_back(norm, active.matrix(), d_input.matrix());
        default_backward().activate(activation, z.values(), d_input.values(), d_input.values());
        input_gradient(kernels, dense.weight, d_input.matrix(), d);
    } else {
        for (float& each : d_input.values()) each *= static_cast<float>(network.head_scale);
        copy(d_input.matrix(), d);
    }
    enter_half_back(network.final_norm, rows(trace_->final_residual().matrix(), one), d);
}

void LogitGradient::enter_encoder(const Slice&) {
    const Trace& encoder = *trace_->encoder();
    d_residual_ = std::move(d_encoded_);
    enter_half_back(encoder.network().final_norm, encoder.final_residual().matrix(), d_residual_.matrix());
    turn_back(encoder);
}

Tensor LogitGradient::leave_half_back(const AfterHalf& norms, const Tensor& output, const Tensor& between,
                                      Range tokens, MatrixView<float> d) const {
    if (norms.sum_norm) normalise_back(*norms.sum_norm, rows(between.matrix(), tokens), d);
    Tensor d_output({d.rows, d.cols});
    copy(d, d_output.matrix());
    if (norms.added_norm) normalise_back(*norms.added_norm, rows(output.matrix(), tokens), d_output.matrix());
    return d_output;
}

void LogitGradient::mlp_back(const Mlp& mlp, ConstMatrix input, ConstMatrix d_output,
                             MatrixView<float> d_input) const {
    const Kernels& kernels = trace_->kernels();
    const Activation activation = trace_->model()->config().activation;
    const Shape wide{input.rows, mlp.up.weight.out};
    Tensor up(wide), d_hidden(wide);
    apply(kernels, mlp.up, input, up.matrix());
    input_gradient(kernels, mlp.down.weight, d_output, d_hidden.matrix());
    const auto activate_back = [&](const Tensor& z, Tensor& d) {
        default_backward().activate(activation, z.values(), d.values(), d.values());
    };
    if (!mlp.gate) {
        activate_back(up, d_hidden);
        return input_gradient(kernels, mlp.up.weight, d_hidden.matrix(), d_input);
    }
    // hidden = act(gate) · up
    Tensor gate(wide), d_gate = d_hidden, back({d_input.rows, d_input.cols});
    apply(kernels, *mlp.gate, input, gate.matrix());
    Tensor activated = gate;
    kernels.activate(activation, activated.values());
    for (Index i = 0; i < up.size(); ++i) {
        d_gate.data()[i] *= up.data()[i];
        d_hidden.data()[i] *= activated.data()[i];
    }
    activate_back(gate, d_gate);
    input_gradient(kernels, mlp.gate->weight, d_gate.matrix(), back.matrix());
    input_gradient(kernels, mlp.up.weight, d_hidden.matrix(), d_input);
    add(back.matrix(), d_input);
}

// Of each token on its own: y = Σ_e w_e f_e(x), where w is the softmax of the scores of its experts.
void LogitGradient::experts_back(const Slice& slice, ConstMatrix d_output, MatrixView<float> d_input) const {
    const Kernels& kernels = trace_->kernels();
    const Experts& experts = *block(slice).experts;
    const LayerTrace& at = layer(slice);
    const Index d_ff = trace_->model()->config().d_ff;
    Tensor d_scores({d_output.rows, experts.router.weight.out}), d_y({1, d_output.cols}), y(d_y.shape()),
        back(d_y.shape());
    for (Index row = 0; row < d_output.rows; ++row) {
        const Index token = slice.part.begin + row;
        const ConstMatrix input = rows(at.mlp_input.matrix(), {token, token + 1});
        const float* weights = at.expert_weights.matrix().row(token);
        std::vector<float> d_weights;
        float mean = 0;
        for (Index slot = 0; slot < experts.per_token; ++slot) {
            const Mlp& mlp = experts.all[static_cast<std::size_t>(at.chosen_experts.matrix()(token, slot))];
            const ConstMatrix hidden{at.mlp_hidden.matrix().row(token) + slot * d_ff, 1, d_ff, d_ff};
            apply(kernels, mlp.down, hidden, y.matrix());
            float& d_weight = d_weights.emplace_back(0.0f);
            for (Index c = 0; c < d_output.cols; ++c) {
                d_weight += y.data()[c] * d_output(row, c);
                d_y.data()[c] = weights[slot] * d_output(row, c);
            }
            mean += weights[slot] * d_weight;
            mlp_back(mlp, input, d_y.matrix(), back.matrix());
            add(back.matrix(), rows(d_input, {row, row + 1}));
        }
        for (Index slot = 0; slot < experts.per_token; ++slot)
            d_scores.matrix()(row, static_cast<Index>(at.chosen_experts.matrix()(token, slot))) =
                weights[slot] * (d_weights[static_cast<std::size_t>(slot)] - mean);
    }
    Tensor of_router({d_input.rows, d_input.cols});
    input_gradient(kernels, experts.router.weight, d_scores.matrix(), of_router.matrix());
    add(of_router.matrix(), d_input);
}

void LogitGradient::leave_mlp(const Slice& slice) {
    const Block& at = block(slice);
    const LayerTrace& kept = layer(slice);
    const MatrixView<float> d_x = rows(d_residual_.matrix(), slice.part);
    // What the block leaves is what the next one in its stack reads.
    if (slice.place.layer + 1 < std::ssize(stack(slice).layers()))
        change_back(slice.number + 1, Site::residual_in, heads_of(d_x, 1), slice.part.begin);
    change_back(slice, Site::residual_out, d_x);
    Tensor d_output = leave_half_back(after_mlp(at), kept.mlp_output, kept.mlp_between, slice.part, d_x);
    change_back(slice, Site::mlp_output, d_output.matrix());
    Tensor d_input({slice.part.size(), d_residual_.dim(1)});
    if (at.experts)
        experts_back(slice, d_output.matrix(), d_input.matrix());
    else
        mlp_back(at.mlp, rows(kept.mlp_input.matrix(), slice.part), d_output.matrix(), d_input.matrix());
    const Tensor& read = at.parallel ? kept.residual_in : kept.residual_middle;
    enter_half_back(at.mlp_norm, rows(read.matrix(), slice.part), d_input.matrix());
    if (!at.parallel) return add(d_input.matrix(), d_x);
    if (slice.part.begin == 0) d_parallel_ = Tensor(d_residual_.shape());
    copy(d_input.matrix(), rows(d_parallel_.matrix(), slice.part));
}

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
        change_back(slice.number + std::ssize(stack(slice).layers()), Site::residual_in, heads_of(d_x, 1),
                    slice.part.begin);
    else
        change_back(slice, Site::residual_middle, d_x);
    Tensor d_output = leave_half_back(after_attention(of.half), of.run.attention_output,
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
    // Rows whose scores or weights were changed have no weights here, and no gradient: attend_changed adds theirs.
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
            const auto pass = row_pass<double>(record, head, query, loss);
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
        turn(kernels, d_qkv, rotary_back_.of(of.half, slice.part));
        normalise_qk_back(slice, side_by_side.matrix());
    }
    add_back(std::span(of.half.qkv).first(cross ? 1 : of.half.qkv.size()), side_by_side.matrix(),
             d_input.matrix());
    enter_half_back(of.half.attention_norm, rows(of.run.residual_in.matrix(), slice.part), d_input.matrix());
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
            normalise_back(*norm, columns(read.matrix(), first, width), columns(d_qkv, first, width));
    };
    back(at.q_norm, {0, q});
    back(at.k_norm, {q, q + k});
}

}  // namespace attn
