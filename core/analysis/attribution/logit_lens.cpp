#include "analysis/attribution/logit_lens.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"
#include "model/explain.hpp"

namespace attn {

std::vector<StreamPlace> stream_places(const Trace& trace) {
    using enum StreamPlace::After;
    std::vector<StreamPlace> places{{embedding, 0}};
    for (Index layer = 0; layer < std::ssize(trace.layers()); ++layer) {
        places.push_back({attention, layer});
        if (trace.layers()[static_cast<std::size_t>(layer)].cross) places.push_back({cross, layer});
        places.push_back({mlp, layer});
    }
    return places;
}

const Tensor& stream_after(const Trace& trace, const StreamPlace& place) {
    const std::vector<LayerTrace>& layers = trace.layers();
    const auto at = static_cast<std::size_t>(place.layer);
    switch (place.after) {
        case StreamPlace::After::embedding: return layers.front().resid_pre;
        case StreamPlace::After::attention:
            return layers[at].cross ? layers[at].cross->resid_pre : layers[at].resid_mid;
        case StreamPlace::After::cross: return layers[at].resid_mid;
        case StreamPlace::After::mlp: break;
    }
    return at + 1 < layers.size() ? layers[at + 1].resid_pre : trace.final_residual();
}

Index attention_of(const Network& network, const StreamPlace& place) {
    const Index first = (network.encoder ? network.encoder->attentions() : 0) + place.layer;
    return place.after == StreamPlace::After::cross ? first + std::ssize(network.blocks) : first;
}

LogitLens::LogitLens(std::shared_ptr<const Trace> trace, Index row, double slice_operations)
    : trace_(std::move(trace)), row_(row), places_(stream_places(*trace_)) {
    const Network& network = trace_->network();
    const Kernels& kernels = trace_->kernels();
    const auto count = std::ssize(places_);
    Tensor states({count, trace_->final_residual().dim(1)});
    for (Index i = 0; i < count; ++i)
        std::ranges::copy(row_of(stream_after(*trace_, places_[static_cast<std::size_t>(i)]), row_),
                          states.matrix().row(i));
    read_ = Tensor(states.shape());
    pre_norm(kernels, network.final_norm, states.matrix(), read_.matrix());
    if (has_head_input(network)) read_ = head_input(kernels, network, read_.matrix());
    const WeightView& head = network.head.weight;
    logits_ = Tensor({count, head.out});
    const double each = 2 * static_cast<double>(count) * static_cast<double>(head.in);
    constexpr double fewest = 64;
    part_ = static_cast<Index>(
        std::clamp(slice_operations / each, fewest, static_cast<double>(head.out) + fewest));
}

bool LogitLens::step() {
    const Index vocabulary = logits_.dim(1);
    if (next_ < vocabulary) {
        const Range part{next_, std::min(next_ + part_, vocabulary)};
        head_logits(trace_->kernels(), trace_->network(), part, read_.matrix(),
                    columns(logits_.matrix(), part.begin, part.size()));
        next_ = part.end;
        return true;
    }
    if (done()) return false;
    const std::span<const float> here = row_of(stream_after(*trace_, places_[states_.size()]), row_);
    states_.push_back(
        {next_token_distribution(logits(std::ssize(states_)), {.temperature = 1}, likeliest_kept),
         cosine(here, row_of(trace_->final_residual(), row_))});
    return !done();
}

std::span<const float> LogitLens::logits(Index place) const { return row_of(logits_, place); }

double LogitLens::probability(Index place, std::int32_t token) const {
    const std::vector<Candidate>& likeliest = states_[static_cast<std::size_t>(place)].likeliest;
    if (likeliest.empty()) return NAN;
    const Candidate& best = likeliest.front();
    const auto logit = static_cast<double>(logits(place)[static_cast<std::size_t>(token)]);
    return best.probability * std::exp(logit - static_cast<double>(best.logit));
}

Index LogitLens::rank(Index place, std::int32_t token) const {
    const std::span<const float> all = logits(place);
    const auto own = static_cast<std::size_t>(token);
    Index before = 0;
    for (std::size_t id = 0; id < all.size(); ++id)
        before += all[id] > all[own] || (all[id] == all[own] && id < own);
    return before + 1;
}

std::vector<double> head_reads(const Model& model, std::span<const float> state) {
    const Network& network = model.network();
    std::vector<double> read(state.begin(), state.end());
    const auto through = [&](const Linear& linear) {
        std::vector<double> out(static_cast<std::size_t>(linear.weight.out));
        for (std::size_t o = 0; o < out.size(); ++o) {
            out[o] = linear.bias.size() > 0 ? static_cast<double>(linear.bias.values()[o]) : 0;
            for (std::size_t i = 0; i < read.size(); ++i)
                out[o] += read[i] * element(linear.weight, static_cast<Index>(i), static_cast<Index>(o));
        }
        read = std::move(out);
    };
    if (network.final_norm) read = FrozenNorm(*network.final_norm, read).of(read);
    for (double& each : read) each *= network.head_scale;
    if (network.project_out) through(*network.project_out);
    if (network.head_transform) {
        through(network.head_transform->dense);
        for (double& each : read) each = activated(network.head_transform->activation, each);
        read = FrozenNorm(network.head_transform->norm, read).of(read);
    }
    return read;
}

double logit_of(const Network& network, std::span<const double> read, std::int32_t token) {
    double logit = network.head.bias.size() > 0
                       ? static_cast<double>(network.head.bias.values()[static_cast<std::size_t>(token)])
                       : 0;
    for (std::size_t i = 0; i < read.size(); ++i)
        logit += read[i] * element(network.head.weight, static_cast<Index>(i), token);
    return network.logit_cap > 0 ? network.logit_cap * std::tanh(logit / network.logit_cap) : logit;
}

}  // namespace attn
