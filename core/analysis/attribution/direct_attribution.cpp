#include "analysis/attribution/direct_attribution.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "analysis/attribution/block_gradient.hpp"
#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/attribution/residual_sources.hpp"
#include "analysis/linalg/vectors.hpp"
#include "kernels/backward.hpp"
#include "model/explain.hpp"

namespace attn {

Result<DirectAttribution> DirectAttribution::start(std::shared_ptr<const Trace> trace, Index row,
                                                   std::int32_t token) {
    const Index vocabulary = trace->network().head.weight.out;
    if (token < 0 || token >= vocabulary)
        return Error{"Token " + std::to_string(token) + " is outside the vocabulary of " +
                     std::to_string(vocabulary) + "."};
    if (row < 0 || row >= trace->tokens())
        return Error{"There is no token " + std::to_string(row) + " in a text of " +
                     std::to_string(trace->tokens()) + "."};
    return DirectAttribution(std::move(trace), row, token);
}

DirectAttribution::DirectAttribution(std::shared_ptr<const Trace> trace, Index row, std::int32_t token)
    : trace_(std::move(trace)),
      row_(row),
      token_(token),
      places_(stream_places(*trace_)),
      slopes_(static_cast<std::size_t>(trace_->attentions())) {
    float logit = 0;
    head_logits(trace_->kernels(), trace_->network(), {token, token + 1},
                rows(trace_->head_input().matrix(), {row, row + 1}), {&logit, 1, 1, 1});
    logit_ = static_cast<double>(logit);
    leave_head();
}

void DirectAttribution::add(LogitPart part, double value, Index number, Index head) {
    shares_.push_back({part, number, head, value, directions_.empty() ? 0 : directions_.size() - 1});
}
void DirectAttribution::add_written(LogitPart part, std::span<const float> written, Index number) {
    if (!written.empty()) add(part, dot(directions_.back(), written), number);
}

const LayerTrace& DirectAttribution::layer(Index number) const {
    return trace_->layers()[static_cast<std::size_t>(trace_->attention(number).place.layer)];
}

// ---- From the logit down ----------------------------------------------------------------------------------

void DirectAttribution::leave_head() {
    const Network& network = trace_->network();
    directions_.emplace_back();
    for (Index i = 0; i < network.head.weight.in; ++i)
        down_.push_back(element(network.head.weight, i, token_) * network.head_scale);
    if (network.head.bias.size() > 0)
        add(LogitPart::head_bias,
            static_cast<double>(network.head.bias.values()[static_cast<std::size_t>(token_)]));
    if (network.project_out) {
        if (network.project_out->bias.size() > 0)
            add(LogitPart::transform, dot(down_, network.project_out->bias.values()));
        down_ = back_through(trace_->kernels(), network.project_out->weight, down_);
    }
    if (network.head_transform) leave_transform(*network.head_transform);
    if (!network.final_norm) return;
    const FrozenNorm norm(*network.final_norm, row_of(trace_->final_residual(), row_));
    directions_.push_back(down_);
    add_written(LogitPart::final_norm, network.final_norm->bias.values());
    down_ = norm.back(down_);
}

void DirectAttribution::leave_transform(const HeadTransform& transform) {
    const Kernels& kernels = trace_->kernels();
    Tensor z({1, transform.dense.weight.out});
    apply(kernels, transform.dense, rows(trace_->final_norm().matrix(), {row_, row_ + 1}), z.matrix());
    Tensor active = z, slope(z.shape());
    kernels.activate(transform.activation, active.values());
    std::ranges::fill(slope.values(), 1.0f);
    default_backward().activate(transform.activation, z.values(), slope.values(), slope.values());
    const FrozenNorm norm(transform.norm, active.values());
    double biases = norm.bias(down_), remainder = 0;
    down_ = norm.back(down_);
    for (std::size_t i = 0; i < down_.size(); ++i) {
        const auto s = static_cast<double>(slope.values()[i]);
        remainder +=
            down_[i] * (static_cast<double>(active.values()[i]) - s * static_cast<double>(z.values()[i]));
        down_[i] *= s;
    }
    if (transform.dense.bias.size() > 0) biases += dot(down_, transform.dense.bias.values());
    add(LogitPart::activation_remainder, remainder);
    add(LogitPart::transform, biases);
    down_ = back_through(kernels, transform.dense.weight, down_);
}

void DirectAttribution::add_change(LogitPart part, std::span<const float> there, const Tensor& given,
                                   Index number) {
    std::vector<float> change(there.begin(), there.end());
    std::ranges::transform(change, given.values(), change.begin(), std::minus());
    if (std::ranges::all_of(change, [](float each) { return each == 0; })) return;
    add_written(part, changes_[{part, number}] = std::move(change), number);
}

void DirectAttribution::leave_sublayer(const StreamPlace& place, const SublayerNorms& norms,
                                       const HalfRows& half, const HalfParts& parts) {
    const std::optional<Norm>& behind =
        norms.post_residual_norm ? norms.post_residual_norm : norms.post_sublayer_norm;
    const Index number = attention_of(trace_->network(), place);
    directions_.push_back(down_);
    if (is_changed(*trace_, row_, place)) {
        const auto here = [&](const Tensor& all) { return rows(all.matrix(), {row_, row_ + 1}); };
        Tensor between({1, half.before.dim(1)}), given(between.shape());
        attn::add_residual(trace_->kernels(), norms, here(half.before), here(half.output), between.matrix(),
                           given.matrix());
        add_change(parts.change, row_of(stream_after(*trace_, place), row_), given, number);
    }
    if (!behind) return;
    add_written(parts.norm, behind->bias.values(), number);
    const FrozenNorm frozen(*behind, row_of(norms.post_residual_norm ? half.between : half.output, row_));
    directions_.push_back(frozen.back(down_));
    if (norms.post_residual_norm) down_ = directions_.back();
}

void DirectAttribution::leave_mlp(const StreamPlace& place) {
    const Index number = attention_of(trace_->network(), place);
    const LayerTrace& at = layer(number);
    leave_sublayer(place, after_mlp(trace_->network().blocks[static_cast<std::size_t>(place.layer)]),
                   {at.resid_mid, at.mlp_output, at.mlp_between},
                   {LogitPart::mlp_change, LogitPart::mlp_norm});
    add_written(LogitPart::mlp, row_of(at.mlp_output, row_), number);
}

void DirectAttribution::leave_attention(const StreamPlace& place) {
    const Index number = attention_of(trace_->network(), place);
    const LayerAttention of = trace_->attention(number);
    const Record& record = of.record();
    leave_sublayer(place, after_attention(of.half),
                   {of.run.resid_pre, of.run.attention_output, of.run.attention_between},
                   {LogitPart::attention_change, LogitPart::attention_norm});
    if (is_changed(*trace_, row_, number, Site::attention_output)) {
        Tensor given({1, of.run.attention_output.dim(1)});
        merge_heads(trace_->kernels(), of.half, rows(record.output().heads(), {row_, row_ + 1}),
                    given.matrix());
        add_change(LogitPart::attention_output_change, row_of(of.run.attention_output, row_), given, number);
    }
    add_written(LogitPart::attention_bias, of.half.attention_out.bias.values(), number);
    const std::vector<double>& slopes = slopes_[static_cast<std::size_t>(number)] =
        back_through(trace_->kernels(), of.half.attention_out.weight, directions_.back());
    const auto d_v = static_cast<std::size_t>(record.d_v());
    for (Index head = record.heads(); head-- > 0;) {
        const std::span own(slopes.data() + static_cast<std::size_t>(head) * d_v, d_v);
        add(LogitPart::head, dot(own, {record.output().heads().head(head).row(row_), d_v}), number, head);
    }
}

LogitSums DirectAttribution::sums() const {
    LogitSums all;
    for (const LogitShare& share : shares_) {
        all.changed |= is_change(share.part);
        (share.part == LogitPart::head            ? all.heads
         : share.part == LogitPart::mlp           ? all.mlps
         : is_change(share.part)                  ? all.changes
         : share.part < LogitPart::embedding_norm ? all.embeddings
                                                  : all.rest) += share.value;
    }
    return all;
}

std::vector<double> DirectAttribution::exact_direction(const LogitShare& share) const {
    const std::span<const double> reads = direction(share);
    if (share.part != LogitPart::head) return {reads.begin(), reads.end()};
    const LayerAttention of = trace_->attention(share.number);
    const Index d_v = of.record().d_v();
    std::vector<double> along(static_cast<std::size_t>(d_v));
    for (Index b = 0; b < d_v; ++b)
        for (std::size_t c = 0; c < reads.size(); ++c)
            along[static_cast<std::size_t>(b)] +=
                reads[c] * element(of.half.attention_out.weight, share.head * d_v + b, static_cast<Index>(c));
    return along;
}

std::vector<double> DirectAttribution::adds(const HeadIndex& head, Range keys) const {
    const LayerAttention of = trace_->attention(head.layer);
    const Record& record = of.record();
    const ConstMatrix v = record.v().heads().head(record.kv_head(head.head));
    const auto d_v = static_cast<std::size_t>(v.cols);
    const std::span slopes = std::span(slopes_[static_cast<std::size_t>(head.layer)])
                                 .subspan(static_cast<std::size_t>(head.head) * d_v, d_v);
    std::vector<double> all;
    all.reserve(static_cast<std::size_t>(keys.size()));
    // Four sums grow at once, each in its order.
    Index key = keys.begin;
    for (; key + 4 <= keys.end; key += 4) {
        const float *a = v.row(key), *b = v.row(key + 1), *c = v.row(key + 2), *d = v.row(key + 3);
        double of_a = 0, of_b = 0, of_c = 0, of_d = 0;
        for (std::size_t i = 0; i < d_v; ++i) {
            of_a += slopes[i] * static_cast<double>(a[i]);
            of_b += slopes[i] * static_cast<double>(b[i]);
            of_c += slopes[i] * static_cast<double>(c[i]);
            of_d += slopes[i] * static_cast<double>(d[i]);
        }
        all.insert(all.end(), {of_a, of_b, of_c, of_d});
    }
    for (; key < keys.end; ++key) all.push_back(dot(slopes, {v.row(key), d_v}));
    return all;
}

TokenShares DirectAttribution::tokens() const {
    TokenShares shares(*trace_);
    for (Index number = trace_->attentions(); number-- > 0;) {
        if (slopes_[static_cast<std::size_t>(number)].empty()) continue;
        const LayerAttention of = trace_->attention(number);
        std::vector<double>& taken = shares.keys_of(of.place.kind);
        for (Index head = of.record().heads(); head-- > 0;) {
            const std::vector<float> weights = of.record().weights(head, row_);
            const std::vector<double> each = adds({number, head}, {0, std::ssize(weights)});
            for (std::size_t key = 0; key < weights.size(); ++key)
                if (weights[key] != 0) taken[key] += static_cast<double>(weights[key]) * each[key];
        }
    }
    return shares;
}

Tensor DirectAttribution::embedded_row() const {
    const Network& network = trace_->network();
    const auto segments = trace_->segments();
    const auto at = static_cast<std::size_t>(row_);
    const Index width = trace_->final_residual().dim(1);
    Tensor token({1, width}), position({1, width}), segment({1, width}), sum({1, width}), stream({1, width});
    const std::vector<std::int32_t> positions = position_rows(network, trace_->ids());
    embed(trace_->kernels(), network, trace_->ids().subspan(at, 1),
          segments.empty() ? segments : segments.subspan(at, 1), std::span(positions).subspan(at, 1),
          {token.matrix(), position.matrix(), segment.matrix(), sum.matrix(), stream.matrix()});
    return stream;
}

void DirectAttribution::leave_embedding() {
    const Network& network = trace_->network();
    constexpr StreamPlace embedded{StreamPlace::After::embedding, 0};
    if (is_changed(*trace_, row_, embedded)) {
        directions_.push_back(down_);
        add_change(LogitPart::embedding_change, row_of(stream_after(*trace_, embedded), row_), embedded_row(),
                   attention_of(network, embedded));
    }
    if (network.embedding_norm) {
        directions_.push_back(down_);
        add_written(LogitPart::embedding_norm, network.embedding_norm->bias.values());
        down_ = FrozenNorm(*network.embedding_norm, row_of(trace_->embedding_sum(), row_)).back(down_);
    }
    directions_.push_back(down_);
    const auto add_row = [&](LogitPart part, const Tensor& embedding) {
        if (embedding.size() > 0) add_written(part, row_of(embedding, row_));
    };
    add_row(LogitPart::segment_embedding, trace_->segment_embedding());
    add_row(LogitPart::position_embedding, trace_->position_embedding());
    add_row(LogitPart::token_embedding, trace_->token_embedding());
    std::ranges::reverse(shares_);
}

bool DirectAttribution::step() {
    if (done()) return false;
    const StreamPlace place = places_.back();
    places_.pop_back();
    switch (place.after) {
        case StreamPlace::After::mlp: leave_mlp(place); break;
        case StreamPlace::After::attention:
        case StreamPlace::After::cross: leave_attention(place); break;
        case StreamPlace::After::embedding: leave_embedding(); break;
    }
    return !done();
}

// ---- What it comes to -------------------------------------------------------------------------------------

double DirectAttribution::sum() const {
    return std::accumulate(shares_.begin(), shares_.end(), 0.0,
                           [](double sum, const LogitShare& share) { return sum + share.value; });
}

double DirectAttribution::capped() const {
    const double cap = trace_->network().logit_cap;
    return cap > 0 ? cap * std::tanh(sum() / cap) : sum();
}

std::span<const float> DirectAttribution::written(const LogitShare& share) const {
    const Network& network = trace_->network();
    const LayerAttention of = trace_->attention(share.number);
    const auto norm_bias = [](const std::optional<Norm>& sum, const std::optional<Norm>& added) {
        return (sum ? sum : added)->bias.values();
    };
    switch (share.part) {
        case LogitPart::token_embedding: return row_of(trace_->token_embedding(), row_);
        case LogitPart::position_embedding: return row_of(trace_->position_embedding(), row_);
        case LogitPart::segment_embedding: return row_of(trace_->segment_embedding(), row_);
        case LogitPart::embedding_norm: return network.embedding_norm->bias.values();
        case LogitPart::head:
            return {of.record().output().heads().head(share.head).row(row_),
                    static_cast<std::size_t>(of.record().d_v())};
        case LogitPart::attention_bias: return of.half.attention_out.bias.values();
        case LogitPart::attention_norm:
            return norm_bias(of.half.attention_post_residual_norm, of.half.attention_post_sublayer_norm);
        case LogitPart::mlp: return row_of(layer(share.number).mlp_output, row_);
        case LogitPart::mlp_norm: {
            const Block& block = network.blocks[static_cast<std::size_t>(of.place.layer)];
            return norm_bias(block.mlp_post_residual_norm, block.mlp_post_sublayer_norm);
        }
        case LogitPart::final_norm: return network.final_norm->bias.values();
        case LogitPart::embedding_change:
        case LogitPart::attention_output_change:
        case LogitPart::attention_change:
        case LogitPart::mlp_change: return changes_.at({share.part, share.number});
        case LogitPart::transform:
        case LogitPart::activation_remainder:
        case LogitPart::head_bias: break;
    }
    return {};
}

}  // namespace attn
