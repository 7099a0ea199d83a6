// Samples dot products: of seeded normal vectors or of a head's q and k, counts them in a histogram, and
// computes the variance of the products in a head's scores. Works in slices of about a millisecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/linalg/moments.hpp"
#include "attention/record.hpp"

namespace attn {

inline constexpr Index sampled_pairs = 2048;

// At most this many of a head's pairs of query and key, evenly chosen.
class HeadPairs {
  public:
    HeadPairs(std::shared_ptr<const Record> record, Index head, Index most = sampled_pairs);

    Index count() const { return count_; }
    struct Pair {
        Index query, key;
    };
    std::optional<Pair> at(Index i) const;  // nothing if the mask forbids the pair
    const Record& record() const { return *record_; }
    const float* q(const Pair& pair) const;  // [d_k]
    const float* k(const Pair& pair) const;

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
    std::int64_t cells_;  // all pairs, which may be more than an Index can count
    Index count_;
};

// Dot products q · k.
class DotProducts {
  public:
    // For `pairs` pairs of vectors with `components` standard normal components each (tensor/random.hpp).
    DotProducts(Index components, Index pairs, std::uint32_t seed);
    // For the first `components` of a head's q and k.
    DotProducts(HeadPairs pairs, Index components);

    bool step();  // true while there is more to do
    bool done() const { return next_ >= pairs_; }
    const std::vector<float>& values() const { return values_; }
    Index odd() const { return odd_; }  // number of NaN or infinite products, which `values` lacks
    Index components() const { return components_; }
    bool of_head() const { return head_.has_value(); }

  private:
    std::optional<HeadPairs> head_;  // nothing: normal vectors
    Index components_, pairs_;
    std::uint32_t seed_ = 0;
    Index next_ = 0, odd_ = 0;
    std::vector<float> values_;
};

// Counts values in bins of equal width over [−reach, reach]; values outside go into the outermost bins.
std::vector<Index> bins_of(const std::vector<float>& values, double reach, Index bins);

// A histogram of q · k, beside the theory of standard normal vectors (analysis/theory/dot_products.hpp).
struct ProductHistogram {
    static constexpr Index bins = 41;

    explicit ProductHistogram(const DotProducts& products);
    double edge(Index bin) const {
        return reach * (2 * static_cast<double>(bin) / static_cast<double>(bins) - 1);
    }

    double reach;                          // the range is −reach to reach
    Index pairs;                           // in all bins
    std::vector<Index> counts;             // [bins]
    std::vector<double> expected, normal;  // [bins], exact and in the limit of large d
};

// Variances of a head's products q_a k_a over its pairs, for each component and for sums of the first ones.
// Pairs whose score is not finite are left out.
class ComponentVariances {
  public:
    explicit ComponentVariances(HeadPairs pairs);

    bool step();
    bool done() const { return next_ >= pairs_.count(); }
    Index components() const { return std::ssize(own_); }
    Index counted() const { return counted_; }
    // Calls visit(pair, q, k) for each pair that counts.
    void for_each(auto&& visit) const {
        for (Index i = 0; i < pairs_.count(); ++i)
            if (const auto pair = counted_pair(i)) visit(*pair, pairs_.q(*pair), pairs_.k(*pair));
    }
    double own(Index component) const { return variance(own_, component); }
    double of_first(Index components) const { return variance(grown_, components - 1); }

  private:
    std::optional<HeadPairs::Pair> counted_pair(Index i) const;
    static double variance(const std::vector<RunningMoments>& all, Index i) {
        return all[static_cast<std::size_t>(i)].moments().variance;
    }

    HeadPairs pairs_;
    Index next_ = 0, counted_ = 0;
    std::vector<RunningMoments> own_, grown_;
};

}  // namespace attn
