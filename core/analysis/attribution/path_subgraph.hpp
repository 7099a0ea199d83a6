// Parts of a graph of paths (path_graph.hpp): its strongest edges, with nodes that stand together merged, or
// random ones to compare them with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/attribution/path_graph.hpp"

namespace attn {

struct PathSubgraph {
    // In the order of their readers: by the node that they enter, by token, by the node that they leave.
    std::vector<PathEdge> edges;
    std::vector<Index> nodes;  // at both ends of these, ascending
};

// The edges on some path from an embedding to the target; the others fall away.
PathSubgraph pruned(const PathLayout& layout, std::span<const PathEdge> edges);
// Prunes the strongest `count` edges.
PathSubgraph strongest_subgraph(const PathGraph& graph, Index count);
// Goes from an embedding to the target, by the strongest edge into each node.
std::vector<PathEdge> strongest_chain(const PathLayout& layout, const PathSubgraph& graph);
// Says of each node of the layout whether it feeds this one in the graph; it feeds itself.
std::vector<bool> feeding(const PathLayout& layout, const PathSubgraph& graph, Index node);
// Draws as many edges of random paths: each path goes from a random node of the graph so far back to an
// embedding, or to another such node, through any edges that are there. Their effects are not known. The
// graph may have fewer edges if there are hardly more.
PathSubgraph random_subgraph(const PathGraph& graph, Index count, std::uint64_t seed);

// Nodes of a sublayer that may stand together, since none of them reads another: a head, or an MLP, at all of
// its tokens, or all heads at a token.
enum class PathMerge : std::uint8_t { none, tokens, heads };
// The nodes that stand together with this one, in ascending order; the first names them all.
std::vector<Index> merged_nodes(const PathLayout& layout, Index node, PathMerge merge);
// Joins nodes that stand together. The effects of edges between the same two are added up.
PathSubgraph merged(const PathLayout& layout, const PathSubgraph& graph, PathMerge merge);

// About so many different sizes, from 1 to all kept edges, each larger than the one before by the same
// factor.
std::vector<Index> path_sizes(const PathGraph& graph, Index count);

}  // namespace attn
