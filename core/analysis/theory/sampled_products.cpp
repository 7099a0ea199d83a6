#include "analysis/theory/sampled_products.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/theory/dot_products.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index components_a_step = Index{1} << 15;

Index pairs_a_step(Index components) { return std::max(components_a_step / components, Index{1}); }

}  // namespace

HeadPairs::HeadPairs(std::shared_ptr<const Record> record, Index head, Index most)
    : record_(std::move(record)),
      head_(head),
      cells_(std::int64_t{record_->queries()} * record_->keys()),
      count_(static_cast<Index>(std::min(std::int64_t{most}, cells_))) {}

std::optional<HeadPairs::Pair> HeadPairs::at(Index i) const {
    const std::int64_t cell = i * cells_ / count_;
    const Pair pair{static_cast<Index>(cell / record_->keys()), static_cast<Index>(cell % record_->keys())};
    return record_->spec().mask.allows(head_, pair.query, pair.key) ? std::optional(pair) : std::nullopt;
}

const float* HeadPairs::q(const Pair& pair) const { return record_->q().heads().head(head_).row(pair.query); }
const float* HeadPairs::k(const Pair& pair) const {
    return record_->k().heads().head(record_->kv_head(head_)).row(pair.key);
}

DotProducts::DotProducts(Index components, Index pairs, std::uint32_t seed)
    : components_(components), pairs_(pairs), seed_(seed) {}

DotProducts::DotProducts(HeadPairs pairs, Index components)
    : head_(std::move(pairs)),
      components_(std::min(components, head_->record().d_k())),
      pairs_(head_->count()) {}

bool DotProducts::step() {
    const Index end = std::min(next_ + pairs_a_step(components_), pairs_);
    for (; next_ < end; ++next_) {
        double sum = 0;
        if (head_) {
            const auto pair = head_->at(next_);
            if (!pair) continue;
            const float *q = head_->q(*pair), *k = head_->k(*pair);
            for (Index a = 0; a < components_; ++a)
                sum += static_cast<double>(q[a]) * static_cast<double>(k[a]);
        } else {
            Random random(mixed(seed_, static_cast<std::uint64_t>(next_)));
            for (Index a = 0; a < components_; ++a) sum += random.normal() * random.normal();
        }
        if (const auto value = static_cast<float>(sum); std::isfinite(value))
            values_.push_back(value);
        else
            ++odd_;
    }
    return !done();
}

std::vector<Index> bins_of(const std::vector<float>& values, double reach, Index bins) {
    std::vector<Index> counts(static_cast<std::size_t>(bins), 0);
    for (const float value : values) {
        const double place = (static_cast<double>(value) / reach + 1) / 2 * static_cast<double>(bins);
        const auto bin = std::clamp(place, 0.0, static_cast<double>(bins) - 1);
        ++counts[static_cast<std::size_t>(bin)];
    }
    return counts;
}

ProductHistogram::ProductHistogram(const DotProducts& products) {
    constexpr double reach_in_spreads = 4;
    const Index d = products.components();
    auto variance = static_cast<double>(d);
    // The variance for normal vectors is known in advance.
    if (products.of_head()) variance = std::max(variance, moments_of(std::span(products.values())).variance);
    reach = reach_in_spreads * std::sqrt(variance);
    counts = bins_of(products.values(), reach, bins);
    pairs = std::ssize(products.values());
    const auto all = static_cast<double>(pairs);
    // The probability up to an edge, by symmetry. The outermost bins include the tails.
    const auto up_to = [&](Index edge_of, auto&& within) {
        if (edge_of == 0 || edge_of == bins) return edge_of == 0 ? 0.0 : 1.0;
        const double at = edge(edge_of);
        return 0.5 + std::copysign(within(std::abs(at)), at) / 2;
    };
    const auto fill = [&](std::vector<double>& out, auto&& within) {
        for (Index bin = 0; bin < bins; ++bin)
            out.push_back(all * (up_to(bin + 1, within) - up_to(bin, within)));
    };
    fill(expected, [&](double to) { return dot_product_within(d, to); });
    fill(normal, [&](double to) { return std::erf(to / std::sqrt(2 * static_cast<double>(d))); });
}

ComponentVariances::ComponentVariances(HeadPairs pairs)
    : pairs_(std::move(pairs)), own_(static_cast<std::size_t>(pairs_.record().d_k())), grown_(own_.size()) {}

std::optional<HeadPairs::Pair> ComponentVariances::counted_pair(Index i) const {
    const auto pair = pairs_.at(i);
    if (!pair) return std::nullopt;
    const float *q = pairs_.q(*pair), *k = pairs_.k(*pair);
    double score = 0;
    for (Index a = 0; a < components(); ++a) score += static_cast<double>(q[a]) * static_cast<double>(k[a]);
    return std::isfinite(score) ? pair : std::nullopt;
}

bool ComponentVariances::step() {
    const Index end = std::min(next_ + pairs_a_step(components()), pairs_.count());
    for (; next_ < end; ++next_) {
        const auto pair = counted_pair(next_);
        if (!pair) continue;
        ++counted_;
        const float *q = pairs_.q(*pair), *k = pairs_.k(*pair);
        double sum = 0;
        for (std::size_t a = 0; a < own_.size(); ++a) {
            const double product = static_cast<double>(q[a]) * static_cast<double>(k[a]);
            own_[a].add(product);
            grown_[a].add(sum += product);
        }
    }
    return !done();
}

}  // namespace attn
