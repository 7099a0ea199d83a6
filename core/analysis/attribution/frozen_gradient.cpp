#include "analysis/attribution/frozen_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>

#include "analysis/attribution/block_gradient.hpp"
#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/attribution/logit_lens.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"
#include "model/explain.hpp"
#include "model/forward.hpp"

namespace attn {

using Kind = PathNode::Kind;

namespace {

// Takes the gradient by what a norm gives back to that by what it reads, [tokens, d_model].
void norm_back(const std::optional<Norm>& norm, const Tensor& x, Range tokens, MatrixView<float> d) {
    if (!norm) return;
    for (Index row = 0; row < d.rows; ++row)
        FrozenNorm(*norm, row_of(x, tokens.begin + row))
            .hold_back({d.row(row), static_cast<std::size_t>(d.cols)});
}

double bias_along(const Tensor& bias, std::span<const double> direction) {
    return bias.size() > 0 ? dot(direction, bias.values()) : 0;
}

double product(const float* a, const float* b, Index count) {
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

}  // namespace

FrozenGradient::FrozenGradient(std::shared_ptr<const Trace> trace, const LogitLoss& loss)
    : trace_(std::move(trace)),
      loss_(loss),
      layout_(*trace_, loss.row.value_or(trace_->tokens() - 1)),
      parts_(layout_.parts().size()),
      effects_(static_cast<std::size_t>(layout_.nodes())),
      constants_(effects_.size()),
      value_(loss_in(*trace_, loss)),
      d_(trace_->final_residual().shape()) {
    if (trace_->encoder()) d_encoded_ = Tensor(trace_->encoder()->final_residual().shape());
    for (std::size_t which = parts_.size(); which-- > 0;) {
        const PathPart& part = layout_.parts()[which];
        if (part.kind != Kind::mlp) {
            slices_.push_back({which, {0, part.tokens}});
            continue;
        }
        parts_[which].mlp = FrozenMlp(layout_.stack(part.stack), part.layer);
        const Shape shape{part.tokens, d_.dim(1)};
        parts_[which].slopes = Tensor({1, shape[0], shape[1]});
        parts_[which].reads = Tensor(shape);
        plan_mlp(which);
    }
}

void FrozenGradient::plan_mlp(std::size_t which) {
    const PathPart& part = layout_.parts()[which];
    const ModelConfig& config = trace_->model()->config();
    const Block& at = block(part);
    const double matrices = at.experts ? 3 * static_cast<double>(at.experts->per_token) : 3,
                 of_token = 2 * matrices * static_cast<double>(config.d_model * config.d_ff),
                 most = std::max(1.0, operations_of_a_frame / of_token);
    const Index step = most < static_cast<double>(part.tokens) ? static_cast<Index>(most) : part.tokens;
    for (Index begin = 0; begin < part.tokens; begin += step)
        slices_.push_back({which, {begin, std::min(part.tokens, begin + step)}});
}

bool FrozenGradient::step() {
    if (done()) return false;
    const Slice slice = slices_[next_++];
    const PathPart& part = layout_.parts()[slice.part];
    switch (part.kind) {
        case Kind::target: leave_target(); break;
        case Kind::mlp:
            if (trace_->encoder() && part.stack == 0 && layout_.parts()[slice.part + 1].stack != 0 &&
                slice.tokens.begin == 0)
                enter_encoder();
            leave_mlp(slice);
            break;
        case Kind::head: leave_attention(part); break;
        case Kind::embedding: leave_embeddings(part); break;
    }
    return !done();
}

void FrozenGradient::enter_encoder() {
    const Trace& encoder = *trace_->encoder();
    d_ = std::move(d_encoded_);
    norm_back(encoder.network().final_norm, encoder.final_residual(), {0, encoder.tokens()}, d_.matrix());
}

// ---- The target -------------------------------------------------------------------------------------------

void FrozenGradient::leave_transform(const HeadTransform& transform, std::vector<double>& down) {
    const Kernels& kernels = trace_->kernels();
    const Index row = layout_.parts().back().first_token;
    Tensor z({1, transform.dense.weight.out});
    apply(kernels, transform.dense, rows(trace_->final_norm().matrix(), {row, row + 1}), z.matrix());
    Tensor active = z;
    kernels.activate(transform.activation, active.values());
    const FrozenNorm norm(transform.norm, active.values());
    double& constant = constants_.back();
    constant += norm.bias(down);
    down = norm.back(down);
    for (std::size_t i = 0; i < down.size(); ++i) {
        const auto of = static_cast<double>(z.values()[i]);
        down[i] *= of == 0 ? 0 : static_cast<double>(active.values()[i]) / of;
    }
    constant += bias_along(transform.dense.bias, down);
    down = back_through(kernels, transform.dense.weight, down);
}

void FrozenGradient::leave_target() {
    const PathPart& part = layout_.parts().back();
    const Network& network = trace_->network();
    const Index row = part.first_token;
    std::vector<double> down(static_cast<std::size_t>(network.head.weight.in));
    double& constant = constants_.back();
    const auto add_token = [&](std::int32_t token, double sign) {
        std::vector<double> of;
        for (Index i = 0; i < network.head.weight.in; ++i)
            of.push_back(element(network.head.weight, i, token));
        const double bias = network.head.bias.size() > 0
                                ? static_cast<double>(network.head.bias.data()[token])
                                : 0,
                     logit = dot(of, row_of(trace_->head_input(), row)) + bias;
        if (network.logit_cap > 0 && logit != 0)
            sign *= network.logit_cap * std::tanh(logit / network.logit_cap) / logit;
        constant += sign * bias;
        for (std::size_t i = 0; i < of.size(); ++i) down[i] += sign * of[i];
    };
    add_token(loss_.raise, 1);
    if (loss_.over) add_token(*loss_.over, -1);
    for (double& each : down) each *= network.head_scale;
    if (network.project_out) {
        constant += bias_along(network.project_out->bias, down);
        down = back_through(trace_->kernels(), network.project_out->weight, down);
    }
    if (network.head_transform) leave_transform(*network.head_transform, down);
    if (network.final_norm) {
        const FrozenNorm norm(*network.final_norm, row_of(trace_->final_residual(), row));
        constant += norm.bias(down);
        down = norm.back(down);
    }
    effects_.back() = value_;
    Tensor& reads = frozen(part).reads;
    reads = Tensor({1, d_.dim(1)});
    std::ranges::transform(down, reads.data(), [](double each) { return static_cast<float>(each); });
    copy(reads.matrix(), rows(d_.matrix(), {row, row + 1}));
}

// ---- Down the stacks --------------------------------------------------------------------------------------

Tensor FrozenGradient::leave_sublayer(const PathPart& part, const SublayerNorms& norms, const Tensor& output,
                                      const Tensor& between, Range tokens) {
    const MatrixView<float> d = rows(d_.matrix(), tokens);
    for (const auto& [number, site] : std::views::reverse(sites_after(layout_, part)))
        scale_rows(*trace_, number, site, heads_of(d, 1), tokens.begin);
    norm_back(norms.post_residual_norm, between, tokens, d);
    Tensor d_output({d.rows, d.cols});
    copy(d, d_output.matrix());
    norm_back(norms.post_sublayer_norm, output, tokens, d_output.matrix());
    scale_rows(*trace_, part.number, site_of(part), heads_of(d_output.matrix(), 1), tokens.begin);
    return d_output;
}

void FrozenGradient::leave_mlp(const Slice& slice) {
    const PathPart& part = layout_.parts()[slice.part];
    const Block& at = block(part);
    const LayerTrace& run = layer(part);
    FrozenPart& to = parts_[slice.part];
    const Range tokens = slice.tokens;
    const Tensor slopes = leave_sublayer(part, after_mlp(at), run.mlp_output, run.mlp_between, tokens);
    copy(slopes.matrix(), rows(to.slopes.heads().head(0), tokens));
    to.mlp.hold(tokens);
    const MatrixView<float> reads = rows(to.reads.matrix(), tokens);
    const std::span own = std::span(constants_)
                              .subspan(static_cast<std::size_t>(part.node(0, tokens.begin)),
                                       static_cast<std::size_t>(tokens.size()));
    to.mlp.back(slopes.matrix(), tokens, reads, own);
    Tensor computed;
    if (is_changed(*trace_, part.number, Site::mlp_output))
        computed = computed_mlp(layout_.stack(part.stack), part.layer, tokens);
    const ConstMatrix output =
        computed.size() > 0 ? std::as_const(computed).matrix() : rows(run.mlp_output.matrix(), tokens);
    for (Index row = 0; row < tokens.size(); ++row) {
        const auto at_row = static_cast<std::size_t>(row);
        if (at.mlp_norm && at.mlp_norm->bias.size() > 0)
            own[at_row] += product(at.mlp_norm->bias.data(), reads.row(row), reads.cols);
        effects_[static_cast<std::size_t>(part.node(0, tokens.begin + row))] =
            product(output.row(row), slopes.matrix().row(row), reads.cols);
    }
    norm_back(at.mlp_norm, at.parallel ? run.resid_pre : run.resid_mid, tokens, reads);
    if (!at.parallel) return add(reads, rows(d_.matrix(), tokens));
    if (tokens.begin == 0) d_parallel_ = Tensor(d_.shape());
    copy(reads, rows(d_parallel_.matrix(), tokens));
}

void FrozenGradient::leave_attention(const PathPart& part) {
    const LayerAttention at = trace_->attention(part.number);
    const Record& record = at.record();
    const Index n = part.tokens, d_v = record.d_v();
    FrozenPart& to = frozen(part);
    const Tensor d_output = leave_sublayer(part, after_attention(at.half), at.run.attention_output,
                                           at.run.attention_between, {0, n});
    Tensor side_by_side({n, part.heads * d_v});
    input_gradient(trace_->kernels(), at.half.attention_out.weight, d_output.matrix(), side_by_side.matrix());
    to.slopes = Tensor({part.heads, n, d_v});
    copy_heads(heads_of(side_by_side.matrix(), part.heads), to.slopes.heads());
    scale_rows(*trace_, part.number, Site::head_output, to.slopes.heads(), 0);
    to.patterns = Tensor({part.heads, n, record.keys()});
    for (Index head = 0; head < part.heads; ++head)
        for (Index query = 0; query < n; ++query)
            std::ranges::copy(record.weights(head, query), to.patterns.heads().head(head).row(query));
    leave_values(part);
    if (block(part).parallel) add(std::as_const(d_parallel_).matrix(), d_.matrix());
}

void FrozenGradient::leave_values(const PathPart& part) {
    const LayerAttention at = trace_->attention(part.number);
    const Record& record = at.record();
    const Kernels& kernels = trace_->kernels();
    FrozenPart& to = frozen(part);
    const Index n_k = record.keys(), d_v = record.d_v();
    const bool cross = part.reads != part.stack;
    const std::optional<Norm>& norm = cross ? at.keys.network().final_norm : at.half.attention_norm;
    Tensor biases({1, d_.dim(1)});
    if (norm) std::ranges::copy(norm->bias.values(), biases.data());
    Tensor d_values({record.kv_heads(), n_k, d_v}), d_read({n_k, d_.dim(1)}), back(d_read.shape());
    to.own_values = Tensor(d_values.shape());
    for (Index head = 0; head < part.heads; ++head)
        for (Index query = 0; query < part.tokens; ++query) {
            const float* slopes = to.slopes.heads().head(head).row(query);
            for (Index key = 0; key < n_k; ++key) {
                const float weight = to.patterns.heads().head(head)(query, key);
                float* d = d_values.heads().head(record.kv_head(head)).row(key);
                for (Index b = 0; weight != 0 && b < d_v; ++b) d[b] += weight * slopes[b];
            }
        }
    scale_rows(*trace_, part.number, Site::v, d_values.heads(), 0);
    for (Index kv = 0; kv < record.kv_heads(); ++kv) {
        const LinearView view =
            to.values.emplace_back(projection_part(*trace_->model(), Stage::v, part.number, kv)).view();
        const MatrixView<float> own = to.own_values.heads().head(kv);
        apply(kernels, view, biases.matrix(), rows(own, {0, 1}));
        for (Index key = 1; key < n_k; ++key) std::copy_n(own.row(0), d_v, own.row(key));
        input_gradient(kernels, view.weight, std::as_const(d_values).heads().head(kv), back.matrix());
        add(std::as_const(back).matrix(), d_read.matrix());
    }
    change_rows(*trace_, part.number, Site::v, to.own_values.heads(), 0);
    measure_heads(part);
    if (cross) return add(std::as_const(d_read).matrix(), d_encoded_.matrix());
    norm_back(norm, at.run.resid_pre, {0, n_k}, d_read.matrix());
    add(std::as_const(d_read).matrix(), d_.matrix());
}

void FrozenGradient::measure_heads(const PathPart& part) {
    const Record& record = trace_->attention(part.number).record();
    const FrozenPart& held = frozen(part);
    const Index d_v = record.d_v();
    const bool has_own_keys = is_changed(*trace_, part.number, Site::v),
               is_output_changed = is_changed(*trace_, part.number, Site::head_output);
    const auto weighted = [&](const Tensor& values, Index head, Index query) {
        const ConstMatrix of = values.heads().head(record.kv_head(head));
        const float* slopes = held.slopes.heads().head(head).row(query);
        double sum = 0;
        for (Index key = 0; key < record.keys(); ++key)
            if (const auto weight = static_cast<double>(held.patterns.heads().head(head)(query, key));
                weight != 0)
                sum += weight * product(of.row(key), slopes, d_v);
        return sum;
    };
    for (Index head = 0; head < part.heads; ++head)
        for (Index query = 0; query < part.tokens; ++query) {
            const auto node = static_cast<std::size_t>(part.node(head, query));
            const float *slopes = held.slopes.heads().head(head).row(query),
                        *patterns = held.patterns.heads().head(head).row(query),
                        *own = held.own_values.heads().head(record.kv_head(head)).row(0);
            effects_[node] = is_output_changed
                                 ? weighted(record.v(), head, query)
                                 : product(record.output().heads().head(head).row(query), slopes, d_v);
            constants_[node] = has_own_keys ? weighted(held.own_values, head, query)
                                            : std::accumulate(patterns, patterns + record.keys(), 0.0) *
                                                  product(own, slopes, d_v);
        }
}

void FrozenGradient::leave_embeddings(const PathPart& part) {
    for (const auto& [number, site] : sites_after(layout_, part))
        scale_rows(*trace_, number, site, heads_of(d_.matrix(), 1), 0);
    const Tensor written = written_by(*trace_, part);
    for (Index token = 0; token < part.tokens; ++token)
        effects_[static_cast<std::size_t>(part.node(0, token))] =
            product(written.heads().head(0).row(token), d_.matrix().row(token), d_.dim(1));
}

}  // namespace attn
