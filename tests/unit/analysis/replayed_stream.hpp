// Replays one row's residual stream in double with some of its sources left out, every norm with its recorded
// statistics. The arithmetic is its own, for comparison with core/analysis/attribution.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "analysis/attribution/residual_sources.hpp"
#include "model/block.hpp"
#include "model/explain.hpp"

namespace attn::test {

using Vector = std::vector<double>;

inline Vector row_in(const Tensor& tensor, Index row) {
    const float* first = tensor.matrix().row(row);
    return {first, first + tensor.dim(1)};
}
inline void add_to(Vector& sum, const Vector& x) {
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
}

// Returns y, normalised by the mean square (and, for a LayerNorm, the variance) of row x.
inline Vector frozen(const Norm& norm, const Tensor& x, Index row, const Vector& y) {
    const auto n = static_cast<double>(y.size());
    const auto first = std::span<const float>(x.matrix().row(row), y.size());
    double mean_x = 0, mean_y = 0, squares = 0;
    if (norm.kind == Norm::Kind::layer)
        for (std::size_t i = 0; i < y.size(); ++i)
            mean_x += static_cast<double>(first[i]) / n, mean_y += y[i] / n;
    for (const float each : first) squares += std::pow(static_cast<double>(each) - mean_x, 2) / n;
    Vector out;
    for (std::size_t i = 0; i < y.size(); ++i)
        out.push_back((y[i] - mean_y) / std::sqrt(squares + static_cast<double>(norm.epsilon)) *
                          static_cast<double>(norm.gain.values()[i]) +
                      (norm.bias.size() > 0 ? static_cast<double>(norm.bias.values()[i]) : 0));
    return out;
}

inline Vector through(const Linear& linear, const Vector& x, bool biased = true) {
    Vector out;
    for (Index o = 0; o < linear.weight.out; ++o) {
        out.push_back(biased && linear.bias.size() > 0
                          ? static_cast<double>(linear.bias.values()[static_cast<std::size_t>(o)])
                          : 0);
        for (std::size_t i = 0; i < x.size(); ++i)
            out.back() += x[i] * element(linear.weight, static_cast<Index>(i), o);
    }
    return out;
}

// Says which sources take part: embeddings, heads and MLPs; biases always do.
using Wanted = std::function<bool(SourcePart part, Index number, Index head)>;

// Returns the stream at a place, [d_model].
inline Vector replayed_stream(const Trace& trace, const StreamPlace& until, Index row, const Wanted& wanted) {
    const Network& network = trace.network();
    Vector stream(static_cast<std::size_t>(trace.final_residual().dim(1)), 0.0);
    const auto embed = [&](SourcePart part, const Tensor& embedding) {
        if (embedding.size() > 0 && wanted(part, 0, 0)) add_to(stream, row_in(embedding, row));
    };
    embed(SourcePart::token_embedding, trace.token_embedding());
    embed(SourcePart::position_embedding, trace.position_embedding());
    embed(SourcePart::segment_embedding, trace.segment_embedding());
    if (network.embedding_norm) stream = frozen(*network.embedding_norm, trace.embedding_sum(), row, stream);
    const auto leave = [&](const SublayerNorms& norms, const Tensor& output, const Tensor& between,
                           const Vector& given) {
        if (norms.post_sublayer_norm) {
            add_to(stream, frozen(*norms.post_sublayer_norm, output, row, given));
        } else {
            add_to(stream, given);
            if (norms.post_residual_norm) stream = frozen(*norms.post_residual_norm, between, row, stream);
        }
    };
    for (const StreamPlace& place : stream_places(trace)) {
        if (place.after == StreamPlace::After::embedding) {
            if (place == until) break;
            continue;
        }
        const Index number = attention_of(network, place);
        const Block& block = network.blocks[static_cast<std::size_t>(place.layer)];
        const LayerTrace& layer = trace.layers()[static_cast<std::size_t>(place.layer)];
        Vector given(stream.size(), 0.0);
        if (place.after == StreamPlace::After::mlp) {
            if (wanted(SourcePart::mlp, number, 0)) add_to(given, row_in(layer.mlp_output, row));
            leave(after_mlp(block), layer.mlp_output, layer.mlp_between, given);
            if (place == until) break;
            continue;
        }
        const LayerAttention of = trace.attention(number);
        for (Index head = 0; head < of.record().heads(); ++head)
            if (wanted(SourcePart::head, number, head))
                add_to(given, row_in(trace.head_contribution(number, head, {row, row + 1}), 0));
        for (std::size_t i = 0; i < static_cast<std::size_t>(of.half.attention_out.bias.size()); ++i)
            given[i] += static_cast<double>(of.half.attention_out.bias.values()[i]);
        leave(after_attention(of.half), of.run.attention_output, of.run.attention_between, given);
        if (place == until) break;
    }
    return stream;
}

}  // namespace attn::test
