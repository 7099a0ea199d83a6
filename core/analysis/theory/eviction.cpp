#include "analysis/theory/eviction.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

Eviction::Eviction(const EvictionRule& rule, Index prompt, Index window, Index tokens)
    : rule_(rule),
      prompt_(prompt),
      window_(window),
      scores_(static_cast<std::size_t>(tokens)),
      gone_(static_cast<std::size_t>(tokens), tokens) {}

bool Eviction::counts() const {
    switch (rule_.policy) {
        case EvictionPolicy::window:
        case EvictionPolicy::sinks: return false;
        case EvictionPolicy::heavy_hitters: return true;
        case EvictionPolicy::snapkv: break;
    }
    return query_ < prompt_ && query_ >= prompt_ - rule_.observes(prompt_);
}

void Eviction::add(std::span<const double> weights) {
    if (counts())
        for (std::size_t i = 0; i < seen_.size(); ++i)
            if (std::isfinite(weights[i])) scores_[static_cast<std::size_t>(seen_[i])] += weights[i];
    ++query_;
    if (window_ > 0) {
        std::vector<Index> inside = seen_;
        std::erase_if(inside, [&](Index key) { return key <= query_ - window_; });
        keep(std::move(inside));
    }
    // SnapKV gives up keys once, and the next token comes in addition.
    const bool snaps = rule_.policy == EvictionPolicy::snapkv;
    const Index room = snaps ? rule_.budget : rule_.budget - 1;
    if (std::ssize(seen_) > room && (snaps ? query_ == prompt_ : query_ >= prompt_)) {
        if (snaps) pool();
        keep(chosen(room));
    }
    if (query_ < std::ssize(gone_)) seen_.push_back(query_);
}

void Eviction::keep(std::vector<Index> kept) {
    for (const Index key : seen_)
        if (!std::ranges::binary_search(kept, key)) gone_[static_cast<std::size_t>(key)] = query_;
    seen_ = std::move(kept);
}

// Pools the sums of the keys before those that are observed.
void Eviction::pool() {
    const Index count = std::ssize(seen_) - rule_.observes(prompt_), reach = rule_.pooling / 2;
    std::vector<double> pooled;
    for (Index i = 0; i < count; ++i) {
        double most = 0;
        for (Index j = std::max<Index>(i - reach, 0); j <= std::min(i + reach, count - 1); ++j)
            most = std::max(most, score(seen_[static_cast<std::size_t>(j)]));
        pooled.push_back(most);
    }
    for (std::size_t i = 0; i < pooled.size(); ++i) scores_[static_cast<std::size_t>(seen_[i])] = pooled[i];
}

std::vector<Index> Eviction::chosen(Index count) const {
    const Index all = std::ssize(seen_);
    const auto newest = [&](std::vector<Index> kept) {
        kept.insert(kept.end(), seen_.end() - (count - std::ssize(kept)), seen_.end());
        return kept;
    };
    switch (rule_.policy) {
        case EvictionPolicy::window: break;
        case EvictionPolicy::sinks: {
            std::vector<Index> first = seen_;
            std::erase_if(first, [&](Index key) { return key >= std::min(rule_.sinks, count); });
            return newest(std::move(first));
        }
        case EvictionPolicy::heavy_hitters: {
            const Index heavy = rule_.budget - rule_.newest();
            return newest(largest({0, all - (count - heavy)}, heavy));
        }
        case EvictionPolicy::snapkv: {
            const Index observed = std::min(rule_.observes(prompt_), count);
            return newest(largest({0, all - observed}, count - observed));
        }
    }
    return newest({});
}

// The keys of the largest scores, ascending; among equals the first.
std::vector<Index> Eviction::largest(Range of_seen, Index count) const {
    std::vector<std::pair<double, Index>> ranked;
    for (Index i = of_seen.begin; i < of_seen.end; ++i) {
        const Index key = seen_[static_cast<std::size_t>(i)];
        ranked.emplace_back(-scores_[static_cast<std::size_t>(key)], key);
    }
    std::ranges::partial_sort(ranked, ranked.begin() + std::min(count, std::ssize(ranked)));
    std::vector<Index> keys;
    for (Index i = 0; i < std::min(count, std::ssize(ranked)); ++i)
        keys.push_back(ranked[static_cast<std::size_t>(i)].second);
    std::ranges::sort(keys);
    return keys;
}

}  // namespace attn
