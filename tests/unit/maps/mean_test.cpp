// Tests the mean of several maps.
#include "maps/mean.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>

#include "maps/merged.hpp"
#include "support.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a mean of maps is the mean of their cells, in every window") {
    constexpr Index n = 9, heads = 2;
    const auto record = random_record(n, n, masked_by(Mask::causal()));
    std::vector<MapPointer> maps;
    for (Index head = 0; head < heads; ++head) maps.push_back(stage_map(record, head, Stage::weight));
    const MapPointer mean = mean_map(maps);
    REQUIRE(mean->queries() == n);
    REQUIRE(mean->keys() == n);
    CHECK_FALSE(mean->is_signed());
    for (Index q = 0; q < n; ++q) {
        double row = 0;
        for (Index k = 0; k < n; ++k) {
            const float cell = mean->cell(q, k);
            if (k > q) {
                CHECK(cell == masked_cell);
                continue;
            }
            double sum = 0;
            for (const MapPointer& map : maps) sum += static_cast<double>(map->cell(q, k));
            CHECK(cell == static_cast<float>(sum / heads));  // rounded once
            row += static_cast<double>(cell);
        }
        CHECK(std::abs(row - 1) < 1e-6);  // n roundings of f32
    }
    const std::vector<float> all = cells_of(*mean), some = cells_of(*mean, {{1, 8}, {2, 5}, 3});
    for (Index r = 0; r < 3; ++r)
        for (Index c = 0; c < 3; ++c)
            CHECK(some[static_cast<std::size_t>(r * 3 + c)] ==
                  all[static_cast<std::size_t>((1 + 3 * r) * n + 2 + c)]);
    CHECK(mean->coverage({0, n}, {0, n}) == Coverage::some);
    CHECK(mean->coverage({0, 1}, {1, n}) == Coverage::none);
}

TEST_CASE("means and larger units can be taken in any order") {
    constexpr Index n = 8;
    const auto record = random_record(n, n, masked_by(Mask::causal()));
    const std::vector<Range> groups{{0, 3}, {3, 4}, {4, 8}};
    std::vector<MapPointer> maps, merged;
    for (Index head = 0; head < 2; ++head) {
        maps.push_back(stage_map(record, head, Stage::weight));
        merged.push_back(merged_map(maps.back(), groups, groups));
    }
    const MapPointer a = merged_map(mean_map(maps), groups, groups), b = mean_map(merged);
    for (Index q = 0; q < 3; ++q)
        for (Index k = 0; k <= q; ++k) CHECK(std::abs(a->cell(q, k) - b->cell(q, k)) < 1e-6f);
}
