// Clusters by average linkage: the two clusters whose members are nearest on the mean become one, again and
// again (UPGMA, Sokal & Michener 1958, "A statistical method for evaluating systematic relationships").
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// Clusters count the single things first, then the merges in their order. The one with the earlier thing is
// on the left; of pairs that are as near, the earliest is merged first.
struct ClusterMerge {
    Index left = 0, right = 0;
    double distance = 0;  // the mean over the pairs of members
};
// `distances` are [n, n], symmetric and finite. Returns n − 1 merges. O(n³).
std::vector<ClusterMerge> average_linkage(std::span<const double> distances, Index n);
// The order in which a dendrogram of them does not cross itself, [n].
std::vector<Index> leaf_order(std::span<const ClusterMerge> merges, Index n);

}  // namespace attn
