// Queries and keys of one head in one plane, as AttentionViz places them (Yeh et al. 2023, arXiv 2305.03210):
// a query stands near the keys that it looks at.
//
// Softmax does not change if all keys move by the same vector, and no dot product does if queries are
// multiplied and keys divided by the same number. So queries and keys are given the same mean and the same
// spread first: c (q − q̄) and (k − k̄) / c, with c⁴ = variance of k / variance of q. The plane is that of
// the two first principal components of all of them together (Pearson 1901). Places are what it shows;
// distances in it are not scores.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "analysis/linalg/symmetric_eigen.hpp"
#include "tensor/tensor.hpp"

namespace attn {

struct QueryKeyPlane {
    using Place = std::array<double, 2>;
    double stretch = 1;                        // c
    std::vector<double> query_mean, key_mean;  // [d], before it
    std::array<std::vector<double>, 2> axes;   // [d], of length 1; the largest component is positive
    Place share{};                             // each axis's share of the squared distances from the mean
    std::vector<Place> queries, keys;

    // The query or the key of a point.
    struct End {
        bool key = false;
        Index point = 0;
        bool operator==(const End&) const = default;
    };
    const Place& at(const End& end) const {
        return (end.key ? keys : queries)[static_cast<std::size_t>(end.point)];
    }
    std::vector<Index> nearest(const End& end) const;  // all points of the other kind, the nearest first
    // A coordinate of x [d] is x · direction(of a key, axis), less that of the mean.
    std::vector<double> direction(bool key, std::size_t axis) const;
    const std::vector<double>& mean(bool key) const { return key ? key_mean : query_mean; }
};

// Finds it in slices.
class QueryKeyPlaneSearch {
  public:
    // Takes finite numbers; q [queries, d], k [keys, d], at least one of each, d at least 1.
    QueryKeyPlaneSearch(ConstMatrix q, ConstMatrix k);
    // Nothing if some number is not finite.
    static std::optional<QueryKeyPlaneSearch> of(ConstMatrix q, ConstMatrix k);

    bool step();  // a few rows, or O(d²) operations; true while there is more to do
    bool done() const { return done_; }
    const QueryKeyPlane& plane() const { return plane_; }  // once done

  private:
    struct Rows {
        std::vector<double> values;  // [count, d]
        Index count = 0;
    };
    Rows centred(ConstMatrix m, std::vector<double>& mean) const;
    void add_squares(const Rows& rows, Index row);
    std::vector<QueryKeyPlane::Place> placed(const Rows& rows) const;
    void finish();

    Index width_;
    Rows queries_, keys_;
    Index added_ = 0;              // rows, the queries first
    std::vector<double> squares_;  // Σ x xᵀ over them, [d, d]
    std::optional<SymmetricEigen> components_;
    bool done_ = false;
    QueryKeyPlane plane_;
};

}  // namespace attn
