// Where the nodes of a graph of paths stand when it is drawn (path_subgraph.hpp).
#pragma once

#include <vector>

#include "analysis/attribution/path_subgraph.hpp"

namespace attn {

// Rows are the parts of a run, the first one the lowest. Columns are tokens or, for nodes that are merged
// over them, places in a row, about its middle. Nodes in one cell stand above one another.
struct PathGrid {
    struct Place {
        Index node = 0, row = 0, level = 0;
        double column = 0;
    };
    std::vector<Place> places;   // in the order of the graph's nodes
    std::vector<Index> heights;  // levels of each row
    Index columns = 0;
};
PathGrid grid_of(const PathLayout& layout, const PathSubgraph& graph, PathMerge merge);

// The merged graph of at most `count` of the strongest edges that has at most so many columns and edges, or
// the smallest one with a path.
PathSubgraph fitting_subgraph(const PathGraph& graph, Index count, PathMerge merge, Index most_columns,
                              Index most_edges);

}  // namespace attn
