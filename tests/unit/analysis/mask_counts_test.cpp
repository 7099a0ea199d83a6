#include "analysis/theory/mask_counts.hpp"

#include <catch_amalgamated.hpp>
#include <set>
#include <tuple>

#include "kernels/attention_tiles.hpp"
#include "support/kernels.hpp"
#include "support/this_build.hpp"
#include "support/threads.hpp"
#include "unit/attention/random_masks.hpp"

using namespace attn;
using namespace attn::test;

namespace {

MaskCounts counted(const Mask& mask, Index queries, Index keys) {
    MaskCounting counting(mask, 0, queries, keys);
    while (counting.step()) continue;
    REQUIRE(counting.done());
    return counting.counts();
}

}  // namespace

TEST_CASE("cells, rows and tiles match a plain count", "[analysis]") {
    Random random(7);
    for (int i = 0; i < 200; ++i) {
        const Index n_q = static_cast<Index>(random.below(200)), n_k = static_cast<Index>(random.below(200));
        const TwoWays both = random_mask(random, 1 + std::max(n_q, n_k), 2);
        const MaskCounts counts = counted(both.mask, n_q, n_k);
        INFO(both.mask.text().substr(0, 200) << " over " << n_q << " × " << n_k);
        std::int64_t kept = 0;
        Index without = 0;
        for (Index q = 0; q < n_q; ++q) {
            Index row = 0;
            for (Index k = 0; k < n_k; ++k) row += both.allows(q, k);
            REQUIRE(counts.kept[static_cast<std::size_t>(q)] == row);
            kept += row;
            without += row == 0;
        }
        CHECK(counts.kept_cells == kept);
        CHECK(counts.rows_without_key() == without);
        CHECK(counts.cells() == static_cast<std::int64_t>(n_q) * n_k);
        Index tiles = 0;
        std::int64_t skipped_cells = 0;
        for (Index q = 0; q < n_q; q += attention_tile_queries)
            for (Index k = 0; k < n_k; k += attention_tile_keys) {
                const Range queries{q, std::min(q + attention_tile_queries, n_q)},
                    keys{k, std::min(k + attention_tile_keys, n_k)};
                ++tiles;
                if (both.mask.tile(0, queries, keys) == Coverage::none)
                    skipped_cells += queries.size() * keys.size();
            }
        CHECK(counts.tiles == tiles);
        CHECK(counts.computed + skipped_cells == counts.cells());
        CHECK(counts.computed >= counts.kept_cells);
    }
}

TEST_CASE("the count for a mask of 16,384 queries matches its formula", "[analysis]") {
    const Index size = test::sanitized ? 2'048 : 16'384;
    const std::int64_t n = size;
    const MaskCounts causal = counted(Mask::causal(), size, size);
    CHECK(causal.kept_cells == n * (n + 1) / 2);
    CHECK(causal.rows_without_key() == 0);
    CHECK(causal.tiles == ((size + 47) / 48) * (size / 64));
    const MaskCounts window = counted(Mask::window(15, 0), size, size);
    CHECK(window.kept_cells == 16 * n - 15 * 16 / 2);
    const MaskCounts strided = counted(Mask::strided(8), size, size);
    CHECK(strided.kept_cells == n * n / 8);
    CHECK(strided.skipped == 0);
    CHECK(counted(Mask::causal(-1), size, size).rows_without_key() == 1);
    CHECK(MaskCounts::multiply_adds(10, 64, 32) == 960);
}

TEST_CASE("the tiles counted as skipped are those that the kernel skips", "[analysis]") {
    struct Asked {
        Mask mask;
        std::set<std::tuple<Index, Index, Index, Index>> hidden;
    };
    const Threads one(1);  // the setting is not per thread
    static constexpr Index n_q = 500, n_k = 410, d = 8;
    const Tensor q = random_tensor({1, n_q, d}, 1), k = random_tensor({1, n_k, d}, 2),
                 v = random_tensor({1, n_k, d}, 3);
    for (const Mask& mask : {Mask::causal(), Mask::window(15, 0), Mask::prefix(100),
                             Mask::global_local({70}, 9), Mask::strided(200), Mask::padding(0), Mask()}) {
        Asked asked{mask, {}};
        AttentionCall call = attention_call(q, k, v);
        call.rule = {
            .self = &asked,
            .row =
                [](const void* self, Index head, Index query, Index key, std::span<std::uint8_t> out) {
                    static_cast<const Asked*>(self)->mask.row(head, query, key, out);
                },
            .tile =
                [](const void* self, Index head, Range queries, Range keys) {
                    auto& a = *static_cast<Asked*>(const_cast<void*>(self));
                    const Coverage coverage = a.mask.tile(head, queries, keys);
                    const bool whole = queries.begin % attention_tile_queries == 0 &&
                                       queries.end == std::min(queries.begin + attention_tile_queries, n_q) &&
                                       keys.begin % attention_tile_keys == 0 &&
                                       keys.end == std::min(keys.begin + attention_tile_keys, n_k);
                    if (whole && coverage == Coverage::none)
                        a.hidden.emplace(queries.begin, queries.end, keys.begin, keys.end);
                    return coverage;
                }};
        run(default_kernels(), call);
        INFO(mask.text());
        CHECK(counted(mask, n_q, n_k).skipped == std::ssize(asked.hidden));
    }
}
