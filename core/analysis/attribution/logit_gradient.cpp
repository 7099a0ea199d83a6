#include "analysis/attribution/logit_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "analysis/attribution/block_gradient.hpp"

namespace attn {

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
    fill_rotary_back(*trace_);
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

void LogitGradient::fill_rotary_back(const Trace& stack) {
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
    // The hidden layer is computed again, once or with its gate, before the way back through all its
    // matrices.
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

// L has the logits of one or two tokens, so their rows of the head are enough.
void LogitGradient::add_row_of_head(std::int32_t token, float slope, std::span<float> d_input) const {
    const Network& network = trace_->model()->network();
    const WeightView& weight = network.head.weight;
    std::vector<float> row(d_input.size());
    read_row(weight, token, 0, row);
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
        norm_gradient(norm, active.matrix(), d_input.matrix());
        default_backward().activate(activation, z.values(), d_input.values(), d_input.values());
        input_gradient(kernels, dense.weight, d_input.matrix(), d);
    } else {
        for (float& each : d_input.values()) each *= static_cast<float>(network.head_scale);
        copy(d_input.matrix(), d);
    }
    pre_norm_gradient(network.final_norm, rows(trace_->final_residual().matrix(), one), d);
}

void LogitGradient::enter_encoder(const Slice&) {
    const Trace& encoder = *trace_->encoder();
    d_residual_ = std::move(d_encoded_);
    pre_norm_gradient(encoder.network().final_norm, encoder.final_residual().matrix(), d_residual_.matrix());
    fill_rotary_back(encoder);
}

void LogitGradient::leave_mlp(const Slice& slice) {
    const Block& at = block(slice);
    const LayerTrace& kept = layer(slice);
    const MatrixView<float> d_x = rows(d_residual_.matrix(), slice.part);
    // What the block leaves is what the next one in its stack reads.
    if (slice.place.layer + 1 < std::ssize(stack(slice).layers()))
        change_back(slice.number + 1, Site::resid_pre, heads_of(d_x, 1), slice.part.begin);
    change_back(slice, Site::resid_post, d_x);
    Tensor d_output =
        add_residual_gradient(after_mlp(at), kept.mlp_output, kept.mlp_between, slice.part, d_x);
    change_back(slice, Site::mlp_output, d_output.matrix());
    Tensor d_input({slice.part.size(), d_residual_.dim(1)});
    const Activation activation = trace_->model()->config().activation;
    if (at.experts)
        experts_gradient(trace_->kernels(), *at.experts, activation, kept, slice.part, d_output.matrix(),
                         d_input.matrix());
    else
        mlp_gradient(trace_->kernels(), at.mlp, activation, rows(kept.mlp_input.matrix(), slice.part),
                     d_output.matrix(), d_input.matrix());
    const Tensor& read = at.parallel ? kept.resid_pre : kept.resid_mid;
    pre_norm_gradient(at.mlp_norm, rows(read.matrix(), slice.part), d_input.matrix());
    if (!at.parallel) return add(d_input.matrix(), d_x);
    if (slice.part.begin == 0) d_parallel_ = Tensor(d_residual_.shape());
    copy(d_input.matrix(), rows(d_parallel_.matrix(), slice.part));
}

}  // namespace attn
