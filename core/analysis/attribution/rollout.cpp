#include "analysis/attribution/rollout.hpp"

#include <algorithm>

#include "analysis/attribution/logit_lens.hpp"

namespace attn {

Rollout::Rollout(std::shared_ptr<const Trace> trace, Index row) : trace_(std::move(trace)), shares_(*trace_) {
    shares_.own[static_cast<std::size_t>(row)] = 1;
    const Network& network = trace_->network();
    for (Index number = 0; network.encoder && number < network.encoder->attentions(); ++number)
        next_.push_back(number);
    for (const StreamPlace& place : stream_places(*trace_))
        if (place.after == StreamPlace::After::attention || place.after == StreamPlace::After::cross)
            next_.push_back(attention_of(network, place));
}

bool Rollout::step() {
    if (done()) return false;
    constexpr Index cells_a_step = Index{1} << 16;  // about a millisecond
    const LayerAttention of = trace_->attention(next_.back());
    const Record& record = of.record();
    std::vector<double>& queries = of.place.kind == AttentionKind::encoder ? shares_.encoded : shares_.own;
    std::vector<double>& keys = shares_.keys_of(of.place.kind);
    if (query_ == 0) mixed_.assign(keys.size(), 0.0);
    if (query_ == 0 && next_.size() == 1) before_first_ = queries;
    for (Index left = cells_a_step; left > 0 && query_ < record.queries(); ++query_) {
        const double share = queries[static_cast<std::size_t>(query_)];
        if (share == 0) continue;
        const double each = share / (2 * static_cast<double>(record.heads()));
        for (Index head = 0; head < record.heads(); ++head) {
            const std::vector<float> weights = record.weights(head, query_);
            for (std::size_t key = 0; key < weights.size(); ++key)
                mixed_[key] += each * static_cast<double>(weights[key]);
        }
        left -= record.heads() * record.keys();
    }
    if (query_ < record.queries()) return true;
    for (double& share : queries) share /= 2;
    for (std::size_t key = 0; key < keys.size(); ++key) keys[key] += mixed_[key];
    next_.pop_back();
    query_ = 0;
    return !done();
}

double Rollout::mixed_first(Index query, Index key) const {
    const LayerAttention first = trace_->attention(0);
    const Record& record = first.record();
    double mean = 0;
    for (Index head = 0; head < record.heads(); ++head)
        mean += static_cast<double>(record.cell(Stage::weight, head, query, key)) /
                static_cast<double>(record.heads());
    return ((query == key ? 1 : 0) + mean) / 2;
}

}  // namespace attn
