#include "analysis/linalg/average_linkage.hpp"

#include <tuple>
#include <utility>

namespace attn {

std::vector<ClusterMerge> average_linkage(std::span<const double> distances, Index n) {
    struct Cluster {
        Index number;
        double size;
        std::vector<double> to;  // the others' places
    };
    std::vector<Cluster> clusters;
    for (Index i = 0; i < n; ++i) {
        const auto row = distances.subspan(static_cast<std::size_t>(i * n), static_cast<std::size_t>(n));
        clusters.push_back({i, 1, {row.begin(), row.end()}});
    }
    std::vector<ClusterMerge> merges;
    while (clusters.size() > 1) {
        std::size_t a = 0, b = 1;
        for (std::size_t i = 0; i < clusters.size(); ++i)
            for (std::size_t j = i + 1; j < clusters.size(); ++j)
                if (clusters[i].to[j] < clusters[a].to[b]) std::tie(a, b) = std::pair(i, j);
        Cluster &left = clusters[a], &right = clusters[b];
        merges.push_back({left.number, right.number, left.to[b]});
        for (std::size_t i = 0; i < clusters.size(); ++i)
            left.to[i] = clusters[i].to[a] =
                (left.size * left.to[i] + right.size * right.to[i]) / (left.size + right.size);
        left.number = n + std::ssize(merges) - 1;
        left.size += right.size;
        clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(b));
        for (Cluster& each : clusters) each.to.erase(each.to.begin() + static_cast<std::ptrdiff_t>(b));
    }
    return merges;
}

std::vector<Index> leaf_order(std::span<const ClusterMerge> merges, Index n) {
    std::vector<Index> order, open;
    if (n > 0) open.push_back(n + std::ssize(merges) - 1);
    while (!open.empty()) {
        const Index at = open.back();
        open.pop_back();
        if (at < n) {
            order.push_back(at);
            continue;
        }
        const ClusterMerge& merge = merges[static_cast<std::size_t>(at - n)];
        open.push_back(merge.right);
        open.push_back(merge.left);
    }
    return order;
}

}  // namespace attn
