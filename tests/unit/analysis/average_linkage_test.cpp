#include "analysis/linalg/average_linkage.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <set>

#include "tensor/random.hpp"

using namespace attn;

TEST_CASE("average linkage merges the clusters with the smallest mean distance", "[analysis]") {
    // 0 and 3 are close, as are 1 and 2; 4 is far from all, but closer to 1 and 2.
    const std::vector<double> d{0, 9,  8, 1, 20, 9, 0,  2,  7,  10, 8,  2, 0,
                                6, 12, 1, 7, 6,  0, 20, 20, 10, 12, 20, 0};
    const auto merges = average_linkage(d, 5);
    REQUIRE(merges.size() == 4);
    CHECK((merges[0].left == 0 && merges[0].right == 3 && merges[0].distance == 1));
    CHECK((merges[1].left == 1 && merges[1].right == 2 && merges[1].distance == 2));
    CHECK((merges[2].left == 5 && merges[2].right == 6));
    CHECK(merges[2].distance == Catch::Approx((9.0 + 8 + 7 + 6) / 4));
    CHECK((merges[3].left == 7 && merges[3].right == 4));
    CHECK(merges[3].distance == Catch::Approx((20.0 + 20 + 10 + 12) / 4));
    CHECK(leaf_order(merges, 5) == std::vector<Index>{0, 3, 1, 2, 4});
}

TEST_CASE("every merge's distance is the mean over all pairs of its members", "[analysis]") {
    Random random(3);
    for (const Index n : {1, 2, 3, 9, 24}) {
        std::vector<double> d(static_cast<std::size_t>(n * n));
        const auto at = [&](Index i, Index j) -> double& { return d[static_cast<std::size_t>(i * n + j)]; };
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < i; ++j) at(i, j) = at(j, i) = random.uniform();
        const auto merges = average_linkage(d, n);
        REQUIRE(std::ssize(merges) == n - 1);
        std::vector<std::vector<Index>> members;
        for (Index i = 0; i < n; ++i) members.push_back({i});
        double before = 0;
        for (const ClusterMerge& merge : merges) {
            const auto left = members[static_cast<std::size_t>(merge.left)],
                       right = members[static_cast<std::size_t>(merge.right)];
            double sum = 0;
            for (const Index i : left)
                for (const Index j : right) sum += at(i, j);
            CHECK(merge.distance == Catch::Approx(sum / static_cast<double>(left.size() * right.size())));
            CHECK(merge.distance >= before - 1e-12);  // average linkage has no inversions
            CHECK(std::ranges::min(left) < std::ranges::min(right));
            before = merge.distance;
            auto& both = members.emplace_back(left);
            both.insert(both.end(), right.begin(), right.end());
        }
        // Each cluster is contiguous in the order.
        const auto order = leaf_order(merges, n);
        CHECK(std::set(order.begin(), order.end()).size() == static_cast<std::size_t>(n));
        for (const auto& cluster : members) {
            std::vector<Index> places;
            for (const Index each : cluster) places.push_back(std::ranges::find(order, each) - order.begin());
            CHECK(std::ranges::max(places) - std::ranges::min(places) == std::ssize(places) - 1);
        }
    }
    CHECK(leaf_order({}, 0).empty());
}
