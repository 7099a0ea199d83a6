#include "maps/mask_map.hpp"

#include "maps/pyramid.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a mask's map is 1 where it allows and 0 where it does not, in every window", "[maps]") {
    constexpr Index n_q = 150, n_k = 171;
    for (const Mask& mask : all_masks(n_q, n_k)) {
        INFO(mask.text().substr(0, 100));
        const MapPointer map = mask_map(mask, 0, n_q, n_k);
        for (const MapWindow& window :
             {whole(*map), MapWindow{{3, 149}, {60, 140}, 7}, MapWindow{{64, 65}, {1, 2}}}) {
            const std::vector<float> cells = cells_of(*map, window);
            for (Index r = 0; r < window.rows(); ++r)
                for (Index k = 0; k < window.keys.size(); ++k)
                    REQUIRE(cells[static_cast<std::size_t>(r * window.keys.size() + k)] ==
                            static_cast<float>(mask.allows(0, window.query(r), window.keys.begin + k)));
        }
    }
}

TEST_CASE("the mean of a block of a mask's map is the allowed share", "[maps]") {
    const MapPointer map = mask_map(Mask::causal(), 0, 64, 64);
    const auto blocks = finished(BlockJob(map, whole(*map), 16, 16)).blocks();
    const std::vector<float> mean = blocks.mean();
    CHECK(mean[0] == 136.0f / 256);  // 16 · 17 / 2 cells of a block on the diagonal
    CHECK(mean[1] == 0);
    CHECK(mean[4] == 1);
    CHECK(blocks.strongest[0] == 1);
}
