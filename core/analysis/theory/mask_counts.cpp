#include "analysis/theory/mask_counts.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/attention_tiles.hpp"

namespace attn {

Index MaskCounts::rows_without_key() const { return static_cast<Index>(std::ranges::count(kept, 0)); }

MaskCounting::MaskCounting(Mask mask, Index head, Index queries, Index keys)
    : mask_(std::move(mask)), head_(head) {
    counts_.queries = queries;
    counts_.keys = keys;
    counts_.kept.resize(static_cast<std::size_t>(queries));
}

bool MaskCounting::step() {
    constexpr std::int64_t cells_a_step = std::int64_t{1} << 17;
    // The cost of asking the kernel about a tile, in cells.
    constexpr std::int64_t cells_a_tile = 16;
    for (std::int64_t looked_at = 0; looked_at < cells_a_step && !done();) {
        const Range queries{next_query_, std::min(next_query_ + attention_tile_queries, counts_.queries)};
        looked_at += count_tiles(queries) + counts_.keys / attention_tile_keys * cells_a_tile + 1;
        next_query_ = queries.end;
    }
    return !done();
}

std::int64_t MaskCounting::count_tiles(Range queries) {
    std::int64_t looked_at = 0;
    const auto kept = [&](Index query) -> Index& { return counts_.kept[static_cast<std::size_t>(query)]; };
    for (Index key = 0; key < counts_.keys; key += attention_tile_keys) {
        const Range keys{key, std::min(key + attention_tile_keys, counts_.keys)};
        const Coverage coverage = mask_.tile(head_, queries, keys);
        ++counts_.tiles;
        if (coverage == Coverage::none) {
            ++counts_.skipped;
            continue;
        }
        const std::int64_t cells = static_cast<std::int64_t>(queries.size()) * keys.size();
        counts_.computed += cells;
        if (coverage == Coverage::some) looked_at += cells;
        std::array<std::uint8_t, attention_tile_keys> allowed;
        const auto row = std::span(allowed).first(static_cast<std::size_t>(keys.size()));
        for (Index query = queries.begin; query < queries.end; ++query) {
            if (coverage == Coverage::some) mask_.row(head_, query, keys.begin, row);
            kept(query) +=
                coverage == Coverage::all ? keys.size() : std::accumulate(row.begin(), row.end(), Index{0});
        }
    }
    for (Index query = queries.begin; query < queries.end; ++query) counts_.kept_cells += kept(query);
    return looked_at;
}

}  // namespace attn
