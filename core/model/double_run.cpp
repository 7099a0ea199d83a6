#include "model/double_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/block.hpp"
#include "model/explain.hpp"

namespace attn {

namespace {

constexpr double most_operations = 4e9, operations_of_a_slice = 5e6;
constexpr Index most_doubles = 16'000'000;  // 128 MB

}  // namespace

bool DoubleRun::repeats(const Trace& run) {
    if (run.encoder() && !repeats(*run.encoder())) return false;
    const Index encoded = run.encoder() ? run.encoder()->tokens() : 0;
    const auto tokens = static_cast<double>(run.tokens() + encoded);
    const std::int64_t numbers =
        trace_bytes(run.model()->config(), std::max(encoded, run.tokens()), run.tokens()) / 4;
    return 2 * static_cast<double>(run.model()->parameter_count()) * tokens <= most_operations &&
           numbers <= most_doubles;
}

DoubleRun::DoubleRun(std::shared_ptr<const Trace> run) : run_(std::move(run)), model_(*run_->model()) {
    if (run_->encoder()) {
        encoder_.run = run_->encoder().get();
        plan_stack(encoder_);
    }
    own_.run = run_.get();
    plan_stack(own_);
}

bool DoubleRun::step() {
    double left = operations_of_a_slice;
    while (!done() && left > 0) {
        const Op& op = ops_[next_];
        const auto most = static_cast<Index>(left / op.operations) + 1;
        const Range units{next_unit_, std::min(op.units, next_unit_ + most)};
        op.work(units);
        const double took = op.operations * static_cast<double>(units.size());
        operations_done_ += took;
        left -= took;
        next_unit_ = units.end;
        if (next_unit_ < op.units) continue;
        ++next_;
        next_unit_ = 0;
    }
    return !done();
}

void DoubleRun::plan(Index units, double operations, std::function<void(Range)> work) {
    if (units == 0) return;
    operations_ += operations * static_cast<double>(units);
    ops_.push_back({std::move(work), units, std::max(operations, 1.0)});
}

void DoubleRun::plan_embedding(Stack& stack, DoubleRows& residual) {
    const Trace& run = *stack.run;
    const Network& network = run.network();
    const Index n = run.tokens(), d = model_.config().d_model;
    stack.token = DoubleRows(n, d);
    if (network.position_embedding) stack.position = DoubleRows(n, d);
    if (network.segment_embedding) stack.segment = DoubleRows(n, d);
    if (network.embedding_norm) stack.sum = DoubleRows(n, d);
    DoubleRows& sum = network.embedding_norm ? stack.sum : residual;
    const double widened = network.project_in ? 2 * static_cast<double>(network.project_in->weight.in) : 4;
    plan(n, widened * static_cast<double>(d), [&stack, &run, &network, &sum, d](Range tokens) {
        const std::vector<std::int32_t> positions = position_rows(network, run.ids());
        std::vector<double> row;
        for (Index t = tokens.begin; t < tokens.end; ++t) {
            const auto at = static_cast<std::size_t>(t);
            const auto take = [&](const WeightView& table, Index which, DoubleRows& to) {
                for (Index i = 0; i < d; ++i) {
                    to.row(t)[i] = element(table, i, which);
                    sum.row(t)[i] += to.row(t)[i];
                }
            };
            const Index id = run.ids()[at];
            if (network.project_in) {
                row.clear();
                for (Index i = 0; i < network.token_embedding.in; ++i)
                    row.push_back(element(network.token_embedding, i, id));
                multiply(*network.project_in, row.data(), stack.token.row(t));
            } else {
                for (Index i = 0; i < d; ++i) stack.token.row(t)[i] = element(network.token_embedding, i, id);
            }
            for (Index i = 0; i < d; ++i) sum.row(t)[i] = stack.token.row(t)[i] *= network.embedding_scale;
            if (network.position_embedding) take(*network.position_embedding, positions[at], stack.position);
            if (network.segment_embedding)
                take(*network.segment_embedding, run.segments().empty() ? 0 : run.segments()[at],
                     stack.segment);
        }
    });
    if (network.embedding_norm) plan_norm(&*network.embedding_norm, stack.sum, residual);
}

void DoubleRun::plan_head(Stack& stack) {
    const Network& network = stack.run->network();
    const Index n = stack.run->tokens();
    stack.final_norm = DoubleRows(n, model_.config().d_model);
    plan_norm(network.final_norm ? &*network.final_norm : nullptr, stack.final_residual, stack.final_norm);
    if (!has_head_input(network)) return;
    stack.head_input = DoubleRows(n, network.head.weight.in);
    if (network.head_scale != 1) {
        plan(n, static_cast<double>(stack.head_input.cols), [&stack, &network](Range tokens) {
            for (Index t = tokens.begin; t < tokens.end; ++t)
                for (Index i = 0; i < stack.head_input.cols; ++i)
                    stack.head_input.row(t)[i] = stack.final_norm.row(t)[i] * network.head_scale;
        });
    } else if (network.project_out) {
        plan_linear(*network.project_out, stack.final_norm, stack.head_input);
    } else {
        const HeadTransform& transform = *network.head_transform;
        plan_linear(transform.dense, stack.final_norm, stack.head_input);
        plan(n, static_cast<double>(40 * stack.head_input.cols), [&stack, &transform](Range tokens) {
            for (Index t = tokens.begin; t < tokens.end; ++t)
                for (Index i = 0; i < stack.head_input.cols; ++i)
                    stack.head_input.row(t)[i] = activated(transform.activation, stack.head_input.row(t)[i]);
        });
        plan_norm(&transform.norm, stack.head_input, stack.head_input);
    }
}

void DoubleRun::plan_stack(Stack& stack) {
    const Network& network = stack.run->network();
    const auto count = std::ssize(network.blocks);
    const Index n = stack.run->tokens(), d = model_.config().d_model;
    const bool decodes = network.encoder != nullptr;
    const Index first = decodes ? std::ssize(network.encoder->blocks) : 0;
    stack.layers.resize(static_cast<std::size_t>(count));
    stack.final_residual = DoubleRows(n, d);
    const auto residual_of = [&](Index l) -> DoubleRows& {
        return l < count ? stack.layers[static_cast<std::size_t>(l)].resid_pre : stack.final_residual;
    };
    for (Layer& layer : stack.layers) {
        layer.resid_pre = layer.middle = DoubleRows(n, d);
        if (!decodes) continue;
        layer.cross.emplace();
        layer.cross->resid_pre = DoubleRows(n, d);
    }
    plan_embedding(stack, residual_of(0));
    for (Index l = 0; l < count; ++l) {
        Layer& layer = stack.layers[static_cast<std::size_t>(l)];
        plan_changes(stack, first + l, Site::resid_pre, layer.resid_pre);
        plan_half(stack, first + l, layer, layer.cross ? layer.cross->resid_pre : layer.middle);
        if (layer.cross) {
            plan_changes(stack, first + count + l, Site::resid_pre, layer.cross->resid_pre);
            plan_half(stack, first + count + l, *layer.cross, layer.middle);
        }
        plan_changes(stack, first + l, Site::resid_mid, layer.middle);
        plan_mlp(stack, l, first + l, residual_of(l + 1));
        plan_changes(stack, first + l, Site::resid_post, residual_of(l + 1));
    }
    plan_head(stack);
}

// ---- Its numbers ------------------------------------------------------------------------------------------

DoubleRun::Found DoubleRun::find(Index attention) const {
    const AttentionPlace place = run_->network().place_of(attention);
    const Stack& stack = place.kind == AttentionKind::encoder ? encoder_ : own_;
    const Layer& layer = stack.layers[static_cast<std::size_t>(place.layer)];
    const bool cross = place.kind == AttentionKind::cross;
    return {&stack, &layer, cross ? &*layer.cross : &layer, cross ? &encoder_.final_norm : nullptr};
}

double DoubleRun::logit(Index row, Index token) const {
    const Network& network = run_->network();
    const DoubleRows& reads = has_head_input(network) ? own_.head_input : own_.final_norm;
    std::vector<double> weights;
    read_row(network.head.weight, token, weights);  // [in] of this output, as every head's lies
    const double sum = bias_at(network.head, token) + dot(reads.row(row), weights.data(), reads.cols);
    return network.logit_cap > 0 ? network.logit_cap * std::tanh(sum / network.logit_cap) : sum;
}

double DoubleRun::probability(Index row, Index token) const {
    if (log_sum_.row != row) {
        std::vector<double> logits;
        for (Index each = 0; each < run_->network().head.weight.out; ++each)
            logits.push_back(logit(row, each));
        const double most = *std::ranges::max_element(logits);
        double sum = 0;
        for (const double each : logits) sum += std::exp(each - most);
        log_sum_ = {row, most + std::log(sum)};
    }
    return std::exp(logit(row, token) - log_sum_.value);
}

bool DoubleRun::has(Stage stage) {
    using enum Stage;
    return (stage >= q && stage <= contribution) || stage == output || is_of_softmax(stage) ||
           (is_of_model(stage) && !is_stored(stage) && stage != value_out && stage != q_pre_rope &&
            stage != k_pre_rope && stage != gate && stage != active_gate && stage != up &&
            stage != router_score);
}

std::optional<double> DoubleRun::value(Index attention, Stage stage, Index head, Index row, Index col) const {
    const Found at = find(attention);
    const Record& record = run_->attention(attention).record();
    const auto of = [&](const DoubleRows& rows, Index first = 0) -> std::optional<double> {
        if (row < 0 || row >= rows.rows || col < 0 || first + col >= rows.cols) return std::nullopt;
        return rows.row(row)[first + col];
    };
    const bool in_row = row >= 0 && row < record.queries(),
               in_map = in_row && col >= 0 && col < record.keys();
    switch (stage) {
        case Stage::q: return of(at.half->q, head * record.d_k());
        case Stage::k: return of(at.half->k, record.kv_head(head) * record.d_k());
        case Stage::v: return of(at.half->v, record.kv_head(head) * record.d_v());
        case Stage::output: return of(at.half->output, head * record.d_v());
        case Stage::raw:
        case Stage::scaled:
        case Stage::capped:
        case Stage::masked:
        case Stage::weight:
            if (!in_map) return std::nullopt;
            return chain(attention, *at.half, head, row).at(col).chain_value(stage);
        case Stage::contribution: {
            if (!in_map) return std::nullopt;
            const double* v = at.half->v.row(col) + record.kv_head(head) * record.d_v();
            return chain(attention, *at.half, head, row).at(col).weight * std::sqrt(dot(v, v, record.d_v()));
        }
        case Stage::exponential:
            if (!in_map) return std::nullopt;
            return chain(attention, *at.half, head, row).at(col).exponential;
        case Stage::row_max:
            if (!in_row) return std::nullopt;
            return chain(attention, *at.half, head, row).row_max();
        case Stage::row_sum:
            if (!in_row) return std::nullopt;
            return chain(attention, *at.half, head, row).row_sum();
        case Stage::embedding: return of(at.stack->token);
        case Stage::position: return of(at.stack->position);
        case Stage::segment: return of(at.stack->segment);
        case Stage::embedding_sum: return of(at.stack->sum);
        case Stage::resid_pre: return of(at.half->resid_pre);
        case Stage::attention_input: return of(at.half->input);
        case Stage::attention_output: return of(at.half->attended);
        case Stage::attention_between: return of(at.half->between);
        case Stage::resid_mid: return of(at.layer->middle);
        case Stage::mlp_input: return of(at.layer->mlp_input);
        case Stage::mlp_hidden: return of(at.layer->hidden);
        case Stage::expert_weight: return of(at.layer->expert_weights);
        case Stage::mlp_output: return of(at.layer->mlp_output);
        case Stage::mlp_between: return of(at.layer->mlp_between);
        case Stage::final_residual: return of(at.stack->final_residual);
        case Stage::final_norm: return of(at.stack->final_norm);
        case Stage::head_input: return of(at.stack->head_input);
        case Stage::logit:
            if (row < 0 || row >= own_.final_norm.rows || col < 0 || col >= run_->network().head.weight.out)
                return std::nullopt;
            return logit(row, col);
        default: return std::nullopt;
    }
}

}  // namespace attn
