#include "maps/picked.hpp"

#include "support.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("Picked rows and columns have the cells of the map", "[maps]") {
    for (const Mask& mask : all_masks(20, 33)) {
        const MapPointer map = stage_map(random_record(20, 33, masked_by(mask)), 1, Stage::weight);
        const std::vector<Index> queries{3, 4, 5, 19, 3}, keys{32, 0, 7, 8};
        const MapPointer picked = picked_map(map, queries, keys);
        REQUIRE(picked->queries() == 5);
        REQUIRE(picked->keys() == 4);
        const auto cells = cells_of(*picked);
        bool any = false, every = true;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const float expected = map->cell(queries[i / 4], keys[i % 4]);
            CHECK(cells[i] == expected);
            any |= expected != masked_cell;
            every &= expected != masked_cell;
        }
        const Coverage coverage = picked->coverage({0, 5}, {0, 4});
        if (coverage == Coverage::none) CHECK(!any);
        if (coverage == Coverage::all) CHECK(every);
        CHECK(picked->cell(3, 1) == map->cell(19, 0));
    }
}

TEST_CASE("No rows or columns make an empty map", "[maps]") {
    const MapPointer map = stage_map(random_record(5, 5), 0, Stage::weight);
    CHECK(picked_map(map, {}, {1, 2})->queries() == 0);
    CHECK(cells_of(*picked_map(map, {1, 2}, {})).empty());
}
