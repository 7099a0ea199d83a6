// What lens Scale counts: dot products of seeded normal vectors or of a head's q and k, and how the products that a
// head's scores are made of vary. Computed in slices of about a millisecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/linalg/moments.hpp"
#include "attention/record.hpp"

namespace attn::app {

inline constexpr Index scale_pairs = 2048;

// At most so many of a head's pairs of query and key, evenly chosen.
class HeadPairs {
  public:
    HeadPairs(std::shared_ptr<const Record> record, Index head, Index most = scale_pairs);

    Index count() const { return count_; }
    struct Pair {
        Index query, key;
    };
    std::optional<Pair> at(Index i) const;  // nothing where the mask forbids the pair
    const Record& record() const { return *record_; }
    const float* q(const Pair& pair) const;  // [d_k]
    const float* k(const Pair& pair) const;

  private:
    std::shared_ptr<const Record> record_;
    Index head_;
    std::int64_t cells_;  // all pairs, of which there may be more than an Index counts
    Index count_;
};

// Dot products q · k.
class DotProducts {
  public:
    // Of `pairs` pairs of vectors with `components` standard normal components each (tensor/random.hpp).
    DotProducts(Index components, Index pairs, std::uint32_t seed);
    // Of the first `components` of a head's q and k.
    DotProducts(HeadPairs pairs, Index components);

    bool step();  // true while there is more to do
    bool done() const { return next_ >= pairs_; }
    const std::vector<float>& values() const { return values_; }
    Index odd() const { return odd_; }  // how many are NaN or infinite; `values` lacks them
    Index components() const { return components_; }

  private:
    std::optional<HeadPairs> head_;  // nothing: normal vectors
    Index components_, pairs_;
    std::uint32_t seed_ = 0;
    Index next_ = 0, odd_ = 0;
    std::vector<float> values_;
};

// Counts values in bins of one width over [−reach, reach]; those outside are in the outermost bins.
std::vector<Index> bins_of(const std::vector<float>& values, double reach, Index bins);

// How a head's products q_a k_a vary over its pairs, each component by itself and the sum of the first ones. Pairs
// whose score is not finite are left out.
class ComponentVariances {
  public:
    explicit ComponentVariances(HeadPairs pairs);

    bool step();
    bool done() const { return next_ >= pairs_.count(); }
    Index components() const { return std::ssize(own_); }
    Index counted() const { return counted_; }
    // Calls visit(pair, q, k) with each pair that is counted.
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

}  // namespace attn::app
