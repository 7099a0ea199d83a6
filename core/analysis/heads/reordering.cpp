#include "analysis/heads/reordering.hpp"

#include <numeric>

namespace attn {

std::optional<Reordering> reordering(const UnplacedRows& rows, const PositionRule& rule,
                                     std::span<const Index> queries, std::span<const Index> keys, Index shift,
                                     bool masked) {
    const auto counted_from = [](Index first, std::size_t count) {
        std::vector<Index> all(count);
        std::iota(all.begin(), all.end(), first);
        return all;
    };
    const auto run = [&](std::span<const Index> order, std::span<const Index> key_order,
                         Index by) -> std::optional<PlacedRun> {
        const std::vector<Index> of_queries = counted_from(rows.query_position(by), order.size()),
                                 of_keys = counted_from(rows.key_position(by), key_order.size());
        if (!rows.reaches(rule, std::max(of_queries.back(), of_keys.back()))) return std::nullopt;
        const bool table = rows.is_own_table(rule);
        auto made =
            run_placed(rows.record().kernels(), table ? PositionRule{} : rule,
                       table ? rows.at_own_positions(order, of_queries) : rows.rows().taken(order, key_order),
                       of_queries, of_keys, rows.spec(masked));
        return made ? std::optional(*std::move(made)) : std::nullopt;
    };
    auto before = run(counted_from(0, queries.size()), counted_from(0, keys.size()), 0),
         after = run(queries, keys, 0);
    if (!before || !after) return std::nullopt;
    CarriedError carried = carried_error(*before, *after, queries);
    Reordering found{*std::move(before), *std::move(after), std::move(carried)};
    found.shifted = run(queries, keys, shift);
    if (found.shifted) found.change = score_change(found.after, *found.shifted);
    return found;
}

}  // namespace attn
