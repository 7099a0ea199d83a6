#include "analysis/heads/head_similarity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/comparison.hpp"
#include "analysis/ordered.hpp"

namespace attn {

namespace {

constexpr Index most_compared_rows = 128;

double bits_of(std::span<const float> row) {  // in bits
    double sum = 0;
    for (const float each : row)
        if (each > 0) sum -= static_cast<double>(each) * std::log2(static_cast<double>(each));
    return sum;
}

// √JSD of rows whose entropies are known.
double distance_of(std::span<const float> p, std::span<const float> q, double entropies) {
    double mixed = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double m = (static_cast<double>(p[i]) + static_cast<double>(q[i])) / 2;
        if (m > 0) mixed -= m * std::log2(m);
    }
    return std::sqrt(std::clamp(mixed - entropies / 2, 0.0, 1.0));
}

}  // namespace

double jensen_shannon_distance(std::span<const float> p, std::span<const float> q) {
    return distance_of(p, q, bits_of(p) + bits_of(q));
}

HeadSimilarity::HeadSimilarity(std::shared_ptr<const Trace> trace, Range attentions)
    : trace_(std::move(trace)),
      attentions_(attentions),
      per_attention_(trace_->attention(attentions.begin).record().heads()) {
    const Index queries = trace_->attention(attentions.begin).record().queries();
    stride_ = std::max<Index>(1, (queries + most_compared_rows - 1) / most_compared_rows);
    const auto all = static_cast<std::size_t>(heads());
    for (auto* pairs : {&maps_, &outputs_}) pairs->resize(all * all);
    for (auto* each : {&local_, &uniform_}) each->resize(all);
}

double HeadSimilarity::progress() const {
    const auto queries = static_cast<double>(trace_->attention(attentions_.begin).record().queries());
    return std::min(1.0, static_cast<double>(next_) / queries);
}

double HeadSimilarity::local(Index i) const {
    const LayerAttention at = trace_->attention(attentions_.begin);
    return &at.queries == &at.keys ? local_[static_cast<std::size_t>(i)] / static_cast<double>(counted_)
                                   : std::numeric_limits<double>::quiet_NaN();
}

bool HeadSimilarity::begin_row() {
    weights_.clear();
    entropies_.clear();
    written_.clear();
    lengths_.clear();
    std::vector<double> local, uniform;
    for (Index i = 0; i < heads(); ++i) {
        const HeadIndex at = head(i);
        const Record& record = trace_->attention(at.layer).record();
        Index seen = 0;
        for (Index key = 0; key < record.keys(); ++key)
            seen += record.spec().mask.allows(at.head, next_, key);
        if (seen < 2) return false;
        const std::vector<float>& row = weights_.emplace_back(record.weights(at.head, next_));
        entropies_.push_back(bits_of(row));
        double near = 0;
        for (Index key = std::max<Index>(0, next_ - near_tokens);
             key < std::min(record.keys(), next_ + near_tokens + 1); ++key)
            near += static_cast<double>(row[static_cast<std::size_t>(key)]);
        local.push_back(near);
        uniform.push_back(entropies_.back() / std::log2(static_cast<double>(seen)));
        const Tensor written = trace_->head_contribution(at.layer, at.head, {next_, next_ + 1});
        const std::vector<float>& vector =
            written_.emplace_back(written.values().begin(), written.values().end());
        lengths_.push_back(std::sqrt(std::inner_product(
            vector.begin(), vector.end(), vector.begin(), 0.0, std::plus{},
            [](float a, float b) { return static_cast<double>(a) * static_cast<double>(b); })));
    }
    for (std::size_t i = 0; i < local.size(); ++i) {
        local_[i] += local[i];
        uniform_[i] += uniform[i];
    }
    taken_.push_back(next_);
    ++counted_;
    return true;
}

void HeadSimilarity::compare(Index a) {
    const auto i = static_cast<std::size_t>(a), all = weights_.size();
    const auto add = [&](std::vector<double>& sums, std::size_t j, double value) {
        sums[i * all + j] += value;
        if (i != j) sums[j * all + i] += value;
    };
    for (std::size_t j = i; j < all; ++j) {
        if (i != j) add(maps_, j, distance_of(weights_[i], weights_[j], entropies_[i] + entropies_[j]));
        double product = 0;
        for (std::size_t k = 0; k < written_[i].size(); ++k)
            product += static_cast<double>(written_[i][k]) * static_cast<double>(written_[j][k]);
        const double lengths = lengths_[i] * lengths_[j];
        if (lengths > 0) add(outputs_, j, i == j ? 1 : product / lengths);
    }
}

bool HeadSimilarity::step() {
    if (done()) return false;
    if (at_ < 0) {
        if (begin_row())
            at_ = 0;
        else
            next_ += stride_;
        return !done();
    }
    compare(at_++);
    if (at_ == heads()) {
        at_ = -1;
        next_ += stride_;
    }
    return !done();
}

std::vector<double> HeadSimilarity::map_distances(Index a, Index b) const {
    const HeadIndex first = head(a), second = head(b);
    const Record &of_first = trace_->attention(first.layer).record(),
                 &of_second = trace_->attention(second.layer).record();
    std::vector<double> all;
    for (const Index query : taken_)
        all.push_back(jensen_shannon_distance(of_first.weights(first.head, query),
                                              of_second.weights(second.head, query)));
    return all;
}

std::vector<double> HeadSimilarity::output_cosines(Index a, Index b) const {
    std::vector<double> all;
    const auto written = [&](const HeadIndex& at, Index query) {
        return trace_->head_contribution(at.layer, at.head, {query, query + 1});
    };
    for (const Index query : taken_) {
        const Tensor first = written(head(a), query), second = written(head(b), query);
        const double each = a == b ? 1 : cosine(first.values(), second.values()).value();
        all.push_back(std::isnan(each) ? 0 : each);
    }
    return all;
}

HeadClusters clusters_of(const HeadSimilarity& heads, bool by_outputs) {
    const Index n = heads.heads();
    if (heads.rows() == 0) return {{}, ordered_by(n, [](Index head) { return head; })};
    std::vector<double> distances;
    for (Index a = 0; a < n; ++a)
        for (Index b = 0; b < n; ++b)
            distances.push_back(1 - (by_outputs ? heads.of_outputs(a, b) : heads.of_maps(a, b)));
    std::vector<ClusterMerge> merges = average_linkage(distances, n);
    std::vector<Index> order = leaf_order(merges, n);
    return {std::move(merges), std::move(order)};
}

}  // namespace attn
