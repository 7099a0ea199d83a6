#include "analysis/logit_gradient.hpp"

#include <algorithm>
#include <cmath>

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

Result<LogitGradient> LogitGradient::start(std::shared_ptr<const Trace> trace, const LogitLoss& loss,
                                           double slice_operations) {
    const Index vocabulary = trace->model()->network().head.weight.out;
    for (const std::int32_t id : {loss.raise, loss.over.value_or(0)})
        if (id < 0 || id >= vocabulary)
            return Error{"Token " + std::to_string(id) + " is outside the vocabulary of " +
                         std::to_string(vocabulary) + "."};
    return LogitGradient(std::move(trace), loss, slice_operations);
}

LogitGradient::LogitGradient(std::shared_ptr<const Trace> trace, const LogitLoss& loss,
                             double slice_operations)
    : trace_(std::move(trace)), loss_(loss), slice_operations_(slice_operations) {
    const ModelConfig& config = trace_->model()->config();
    const Index n = trace_->tokens(), pairs = std::ssize(trace_->model()->network().rotary);
    layers_.resize(trace_->layers().size());
    d_residual_ = Tensor({n, config.d_model});
    rotary_back_ = {Tensor({n, pairs}), Tensor({n, pairs})};
    fill_rotary(trace_->model()->network().rotary, 0, rotary_back_.cosine.matrix(),
                rotary_back_.sine.matrix());
    for (float& sine : rotary_back_.sine.values()) sine = -sine;
    slices_.push_back({&LogitGradient::leave_head, config.layers, {}});
    for (Index l = config.layers; l-- > 0;) plan_layer(l);
}

void LogitGradient::plan(void (LogitGradient::*work)(const Slice&), Index l, double operations_per_token) {
    const Index n = trace_->tokens();
    const double most = std::max(1.0, slice_operations_ / operations_per_token);
    const Index step = most < static_cast<double>(n) ? static_cast<Index>(most) : n;
    for (Index begin = 0; begin < n; begin += step)
        slices_.push_back({work, l, {begin, std::min(n, begin + step)}});
}

void LogitGradient::plan_layer(Index l) {
    const ModelConfig& config = trace_->model()->config();
    const auto d = static_cast<double>(config.d_model), d_ff = static_cast<double>(config.d_ff);
    const auto q_width = static_cast<double>(config.heads * config.head_dim);
    const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
    // The hidden layer is computed again, once or with its gate, before the way back through all its matrices.
    const double products = trace_->model()->network().blocks[static_cast<std::size_t>(l)].gate ? 5 : 3;
    plan(&LogitGradient::leave_mlp, l, 2 * products * d * d_ff);
    plan(&LogitGradient::leave_heads, l, 2 * q_width * d);
    for (Index kv_head = 0; kv_head < config.kv_heads; ++kv_head)
        slices_.push_back({&LogitGradient::attend, l, {kv_head, kv_head + 1}});
    plan(&LogitGradient::leave_projections, l, 2 * d * (q_width + 2 * kv_width));
}

const Block& LogitGradient::block(const Slice& slice) const {
    return trace_->model()->network().blocks[static_cast<std::size_t>(slice.layer)];
}
const LayerTrace& LogitGradient::layer(const Slice& slice) const {
    return trace_->layers()[static_cast<std::size_t>(slice.layer)];
}

bool LogitGradient::step(Index layer) {
    if (heads(layer) || next_ == slices_.size()) return false;
    const Slice slice = slices_[next_++];
    (this->*slice.work)(slice);
    // A layer's heads are complete when the work on its attention begins.
    if (next_ < slices_.size() && slices_[next_].work == &LogitGradient::attend)
        layers_[static_cast<std::size_t>(slices_[next_].layer)].complete = true;
    return !heads(layer);
}

const Tensor* LogitGradient::heads(Index layer) const {
    const Layer& at = layers_[static_cast<std::size_t>(layer)];
    return at.complete ? &at.heads : nullptr;
}
const Tensor* LogitGradient::attention_output(Index layer) const {
    const Layer& at = layers_[static_cast<std::size_t>(layer)];
    return at.complete ? &at.attention_output : nullptr;
}

// d becomes the gradient by x, of the gradient by what the norm gives.
void LogitGradient::normalise_back(const Norm& norm, ConstMatrix x, MatrixView<float> d) const {
    const BackwardKernels& backward = default_backward();
    switch (norm.kind) {
        case Norm::Kind::layer: backward.layer_norm(x, norm.gain.values(), norm.epsilon, d, d, {}, {}); break;
        case Norm::Kind::rms: backward.rms_norm(x, norm.gain.values(), norm.epsilon, d, d, {}); break;
    }
}

void LogitGradient::leave_head(const Slice&) {
    const Network& network = trace_->model()->network();
    const Range last{trace_->tokens() - 1, trace_->tokens()};
    value_ = loss_of(trace_->logits(last).values(), loss_);
    Tensor d_logits({1, network.head.weight.out});
    d_logits.data()[loss_.raise] += 1;
    if (loss_.over) d_logits.data()[*loss_.over] -= 1;
    const MatrixView<float> d = rows(d_residual_.matrix(), last);
    input_gradient(trace_->kernels(), network.head.weight, d_logits.matrix(), d);
    normalise_back(network.final_norm, rows(trace_->final_residual().matrix(), last), d);
}

void LogitGradient::leave_mlp(const Slice& slice) {
    const Kernels& kernels = trace_->kernels();
    const ModelConfig& config = trace_->model()->config();
    const Block& at = block(slice);
    const Shape wide{slice.part.size(), config.d_ff};
    const ConstMatrix input = rows(layer(slice).mlp_input.matrix(), slice.part);
    const MatrixView<float> d_x = rows(d_residual_.matrix(), slice.part);
    Tensor up(wide), d_hidden(wide), d_input({slice.part.size(), config.d_model});
    apply(kernels, at.up, input, up.matrix());
    input_gradient(kernels, at.down.weight, d_x, d_hidden.matrix());
    const auto activate_back = [&](const Tensor& z, Tensor& d) {
        default_backward().activate(config.activation, z.values(), d.values(), d.values());
    };
    if (at.gate) {
        // hidden = act(gate) · up
        Tensor gate(wide), d_gate = d_hidden, back(d_input.shape());
        apply(kernels, *at.gate, input, gate.matrix());
        Tensor activated = gate;
        kernels.activate(config.activation, activated.values());
        for (Index i = 0; i < up.size(); ++i) {
            d_gate.data()[i] *= up.data()[i];
            d_hidden.data()[i] *= activated.data()[i];
        }
        activate_back(gate, d_gate);
        input_gradient(kernels, at.gate->weight, d_gate.matrix(), back.matrix());
        input_gradient(kernels, at.up.weight, d_hidden.matrix(), d_input.matrix());
        add(back.matrix(), d_input.matrix());
    } else {
        activate_back(up, d_hidden);
        input_gradient(kernels, at.up.weight, d_hidden.matrix(), d_input.matrix());
    }
    normalise_back(at.mlp_norm, rows(layer(slice).residual_middle.matrix(), slice.part), d_input.matrix());
    add(d_input.matrix(), d_x);
}

void LogitGradient::leave_heads(const Slice& slice) {
    const ModelConfig& config = trace_->model()->config();
    const Index n = trace_->tokens();
    Layer& to = layers_[static_cast<std::size_t>(slice.layer)];
    if (slice.part.begin == 0) {
        to.heads = Tensor({config.heads, n, config.head_dim});
        to.attention_output = d_residual_;
        d_q_ = Tensor({config.heads, n, config.head_dim});
        d_k_ = Tensor({config.kv_heads, n, config.head_dim});
        d_v_ = Tensor(d_k_.shape());
        const Record& record = layer(slice).attention;
        output_ = record.output(), row_max_ = record.row_max(), row_log_sum_ = record.row_log_sum();
    }
    Tensor side_by_side({slice.part.size(), config.heads * config.head_dim});
    input_gradient(trace_->kernels(), block(slice).attention_out.weight,
                   rows(d_residual_.matrix(), slice.part), side_by_side.matrix());
    copy_heads(heads_of(side_by_side.matrix(), config.heads), rows(to.heads.heads(), slice.part));
}

void LogitGradient::attend(const Slice& slice) {
    const Record& record = layer(slice).attention;
    const Index shared = record.heads() / record.kv_heads();
    const Range kv = slice.part, heads{kv.begin * shared, kv.end * shared};
    const Tensor& d_heads = layers_[static_cast<std::size_t>(slice.layer)].heads;
    default_backward().attention({.forward = {.q = heads_between(record.q().heads(), heads),
                                              .k = heads_between(record.k().heads(), kv),
                                              .v = heads_between(record.v().heads(), kv),
                                              .scale = record.scale(),
                                              .softcap = record.spec().softcap,
                                              .rule = record.spec().mask.rule(),
                                              .output = heads_between(output_.heads(), heads),
                                              .row_max = rows(row_max_.matrix(), heads),
                                              .row_log_sum = rows(row_log_sum_.matrix(), heads)},
                                  .d_output = heads_between(d_heads.heads(), heads),
                                  .d_q = heads_between(d_q_.heads(), heads),
                                  .d_k = heads_between(d_k_.heads(), kv),
                                  .d_v = heads_between(d_v_.heads(), kv)});
}

void LogitGradient::leave_projections(const Slice& slice) {
    const Kernels& kernels = trace_->kernels();
    const ModelConfig& config = trace_->model()->config();
    const Index count = slice.part.size();
    Tensor side_by_side({count, (config.heads + 2 * config.kv_heads) * config.head_dim}),
        d_input({count, config.d_model}), back(d_input.shape());
    const QkvRows d_qkv = qkv_of(side_by_side.matrix(), config.heads, config.kv_heads);
    copy_heads(rows(d_q_.heads(), slice.part), d_qkv.q);
    copy_heads(rows(d_k_.heads(), slice.part), d_qkv.k);
    copy_heads(rows(d_v_.heads(), slice.part), d_qkv.v);
    turn(kernels, d_qkv, rows(rotary_back_, slice.part));
    Index column = 0;
    for (const Linear& linear : block(slice).qkv) {
        input_gradient(kernels, linear.weight, columns(side_by_side.matrix(), column, linear.weight.out),
                       back.matrix());
        add(back.matrix(), d_input.matrix());
        column += linear.weight.out;
    }
    normalise_back(block(slice).attention_norm, rows(layer(slice).residual_in.matrix(), slice.part),
                   d_input.matrix());
    add(d_input.matrix(), rows(d_residual_.matrix(), slice.part));
}

}  // namespace attn
