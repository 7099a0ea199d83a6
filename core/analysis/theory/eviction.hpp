// Which keys a cache of limited size keeps while a text is decoded, as a function of the weights that its
// queries gave. While a query is answered there are at most `budget` keys, its own included, and what was
// given up once is gone.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

enum class EvictionPolicy {
    window,  // the newest keys
    sinks,   // the first `sinks` keys and the newest (StreamingLLM: Xiao et al. 2023, arXiv 2309.17453)
    // Half of the keys are the newest; the others have the largest sums of the weights that all queries so.
    heavy_hitters,
    // far gave them (H2O: Zhang et al. 2023, arXiv 2306.14048)
    // Keeps the prompt's last `observed` keys and those to which their queries gave most, the largest such
    // sum.
    snapkv,
    // among `pooling` neighbours counting for each; what is decoded is all kept, beyond the budget (SnapKV:
    // Li et al. 2024, arXiv 2404.14469)
};
inline constexpr Index eviction_policy_count = 4;

struct EvictionRule {
    EvictionPolicy policy = EvictionPolicy::heavy_hitters;
    Index budget = 8;  // at least 1
    Index sinks = 4;
    Index observed = 4;
    Index pooling = 3;  // odd
    bool operator==(const EvictionRule&) const = default;

    // In a budget of heavy hitters: how many are the newest keys, the query's own included.
    Index newest() const { return budget - budget / 2; }
    // How many queries of a prompt SnapKV observes.
    Index observes(Index prompt) const { return std::min({observed, budget, prompt}); }
};

// The cache of one head of keys and values in one layer. A prompt is read as a whole: its queries see all
// that the model lets them see, and the first keys are given up when it ends.
class Eviction {
  public:
    // `window` is how many keys the model lets a query see, itself included; 0: all before it.
    Eviction(const EvictionRule& rule, Index prompt, Index window, Index tokens);

    Index query() const { return query_; }  // whose weights come next
    // The keys that it sees, ascending; the last is its own.
    const std::vector<Index>& seen() const { return seen_; }
    // Whether its weights decide what is kept.
    bool counts() const;
    // Goes on to the next query, after one that gave the keys seen these weights, the sum over the heads that
    // share the keys. They are not read, and may be missing, where they do not count; one that is not finite
    // counts as 0.
    void add(std::span<const double> weights);

    // The first query that does not see a key any more, [tokens]; `tokens` where there is none.
    const std::vector<Index>& gone() const { return gone_; }
    // What decided about a key, as far as it was known: the sum of its weights, with SnapKV the largest among
    // its neighbours.
    double score(Index key) const { return scores_[static_cast<std::size_t>(key)]; }

  private:
    void keep(std::vector<Index> kept);
    void pool();
    std::vector<Index> chosen(Index count) const;  // among the keys seen, which are more
    std::vector<Index> largest(Range of_seen, Index count) const;

    EvictionRule rule_;
    Index prompt_, window_, query_ = 0;
    std::vector<Index> seen_{0};
    std::vector<double> scores_;
    std::vector<Index> gone_;
};

}  // namespace attn
