#include "analysis/attribution/path_grid.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace attn {

PathGrid grid_of(const PathLayout& layout, const PathSubgraph& graph, PathMerge merge) {
    PathGrid grid;
    std::map<std::pair<std::size_t, Index>, Index> columns;  // keyed by stack and token
    std::map<std::pair<Index, Index>, Index> levels;         // keyed by row and column
    std::vector<Index> widths;                               // nodes of each row
    const PathPart* last = nullptr;
    for (const Index node : graph.nodes) {
        const PathPart& part = layout.part_of(node);
        if (std::exchange(last, &part) != &part) widths.push_back(0);
        ++widths.back();
        columns[{part.stack, layout.token_of(node)}] = 0;
        grid.places.push_back({.node = node, .row = std::ssize(widths) - 1});
    }
    const bool are_tokens = merge != PathMerge::tokens;
    for (Index at = 0; auto& [token, column] : columns) column = at++;
    grid.columns = are_tokens || widths.empty() ? std::ssize(columns) : std::ranges::max(widths);
    grid.heights.resize(widths.size(), 1);
    for (Index place = 0; PathGrid::Place & each : grid.places) {
        const auto row = static_cast<std::size_t>(each.row);
        if (are_tokens) {
            const Index column = columns[{layout.part_of(each.node).stack, layout.token_of(each.node)}];
            each.column = static_cast<double>(column);
            each.level = levels[{each.row, column}]++;
            grid.heights[row] = std::max(grid.heights[row], each.level + 1);
        } else {
            each.column = static_cast<double>(grid.columns - widths[row]) / 2 + static_cast<double>(place);
            place = place + 1 < widths[row] ? place + 1 : 0;
        }
    }
    return grid;
}

PathSubgraph fitting_subgraph(const PathGraph& graph, Index count, PathMerge merge, Index most_columns,
                              Index most_edges) {
    const auto of = [&](Index edges) {
        return merged(graph.layout(), strongest_subgraph(graph, edges), merge);
    };
    PathSubgraph found = of(count);
    while (true) {
        const bool is_crowded = std::ssize(found.edges) > most_edges;
        if (!is_crowded && grid_of(graph.layout(), found, merge).columns <= most_columns) return found;
        count = std::min(count - 1, is_crowded ? count * 7 / 8 : count);
        PathSubgraph fewer = of(count);
        if (fewer.edges.empty()) return found;
        found = std::move(fewer);
    }
}

}  // namespace attn
