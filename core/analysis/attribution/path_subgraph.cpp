#include "analysis/attribution/path_subgraph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tensor/random.hpp"

namespace attn {

using Kind = PathNode::Kind;

PathSubgraph pruned(const PathLayout& layout, std::span<const PathEdge> edges) {
    const auto count = static_cast<std::size_t>(layout.nodes());
    std::vector<std::uint8_t> fed(count), feeds(count);
    feeds.back() = 1;
    for (const PathPart& part : layout.parts())
        if (part.kind == Kind::embedding)
            std::fill_n(fed.begin() + part.first_node, part.nodes(), std::uint8_t{1});
    struct Placed {
        PathEdge edge;
        Index token;
        auto key() const { return std::tuple(edge.to, token, edge.from); }
    };
    std::vector<Placed> sorted;
    sorted.reserve(edges.size());
    for (const PathEdge& edge : edges) sorted.push_back({edge, layout.token_of(edge.from)});
    std::ranges::sort(sorted, {}, &Placed::key);
    const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
    // Edges lead to higher numbers, so that what comes before a reader, or behind it, is known when it is
    // there.
    for (const Placed& each : sorted) fed[at(each.edge.to)] |= fed[at(each.edge.from)];
    for (const Placed& each : sorted | std::views::reverse)
        feeds[at(each.edge.from)] |= feeds[at(each.edge.to)];
    PathSubgraph graph;
    for (const Placed& each : sorted)
        if (fed[at(each.edge.from)] && feeds[at(each.edge.to)]) graph.edges.push_back(each.edge);
    std::vector<std::uint8_t> joined(count);
    for (const PathEdge& edge : graph.edges) joined[at(edge.from)] = joined[at(edge.to)] = 1;
    for (std::size_t node = 0; node < count; ++node)
        if (joined[node]) graph.nodes.push_back(static_cast<Index>(node));
    return graph;
}

PathSubgraph strongest_subgraph(const PathGraph& graph, Index count) {
    const auto most = std::min(static_cast<std::size_t>(count), graph.edges().size());
    return pruned(graph.layout(), graph.edges().first(most));
}

std::vector<PathEdge> strongest_chain(const PathLayout& layout, const PathSubgraph& graph) {
    std::vector<PathEdge> sorted = graph.edges, chain;
    std::ranges::sort(sorted, is_stronger);
    const auto into = [&](Index node) { return std::ranges::find(sorted, node, &PathEdge::to); };
    for (auto next = into(layout.target()); next != sorted.end(); next = into(next->from))
        chain.push_back(*next);
    std::ranges::reverse(chain);
    return chain;
}

std::vector<bool> feeding(const PathLayout& layout, const PathSubgraph& graph, Index node) {
    std::vector<bool> feeds(static_cast<std::size_t>(layout.nodes()));
    feeds[static_cast<std::size_t>(node)] = true;
    for (const PathEdge& edge : graph.edges | std::views::reverse)
        if (feeds[static_cast<std::size_t>(edge.to)]) feeds[static_cast<std::size_t>(edge.from)] = true;
    return feeds;
}

namespace {

// Draws edges of a graph, all that are there alike.
class RandomEdges {
  public:
    RandomEdges(const PathGraph& graph, std::uint64_t seed) : graph_(graph), random_(seed) {}

    Index below(Index end) { return static_cast<Index>(random_.below(static_cast<std::uint64_t>(end))); }
    // Draws a node that the reader reads; nothing if it reads none.
    std::optional<Index> source(Index reader) {
        const PathLayout& layout = graph_.layout();
        const PathPart& part = layout.part_of(reader);
        Index token = layout.token_of(reader);
        if (part.kind == Kind::head) {
            const std::vector<Index>& keys = keys_of(part, reader);
            if (keys.empty()) return std::nullopt;
            token = keys[static_cast<std::size_t>(below(std::ssize(keys)))];
        }
        return layout.writing_node(part.reads, below(part.readable), token);
    }

  private:
    // Keys with a weight.
    const std::vector<Index>& keys_of(const PathPart& part, Index head) {
        const auto [found, is_new] = keys_.try_emplace(head);
        if (!is_new) return found->second;
        const Index place = head - part.first_node;
        const ConstMatrix patterns = graph_.frozen().part(part).patterns.heads().head(place / part.tokens);
        for (Index key = 0; key < patterns.cols; ++key)
            if (patterns(place % part.tokens, key) != 0) found->second.push_back(key);
        return found->second;
    }

    const PathGraph& graph_;
    Random random_;
    std::unordered_map<Index, std::vector<Index>> keys_;
};

}  // namespace

PathSubgraph random_subgraph(const PathGraph& graph, Index count, std::uint64_t seed) {
    const PathLayout& layout = graph.layout();
    RandomEdges random(graph, mixed(seed, static_cast<std::uint64_t>(count)));
    std::vector<PathEdge> edges, path;
    std::unordered_set<std::uint64_t> kept;
    const auto key = [](Index from, Index to) {
        return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
    };
    std::vector<std::uint8_t> known(static_cast<std::size_t>(layout.nodes()));
    known.back() = 1;
    std::vector<Index> inside{layout.target()};  // known nodes but for embeddings
    const Index tries = 1000 + 4 * count;
    for (Index i = 0; i < tries && std::ssize(edges) < count; ++i) {
        path.clear();
        Index at = inside[static_cast<std::size_t>(random.below(std::ssize(inside)))];
        bool arrives = false;
        while (!arrives) {
            const auto source = random.source(at);
            if (!source || kept.contains(key(*source, at))) break;
            path.push_back({static_cast<std::int32_t>(*source), static_cast<std::int32_t>(at), 0});
            at = *source;
            arrives = layout.part_of(at).kind == Kind::embedding || known[static_cast<std::size_t>(at)];
        }
        if (!arrives || std::ssize(edges) + std::ssize(path) > count) continue;
        for (const PathEdge& edge : path) {
            kept.insert(key(edge.from, edge.to));
            edges.push_back(edge);
            std::uint8_t& is_known = known[static_cast<std::size_t>(edge.from)];
            if (!is_known && layout.part_of(edge.from).kind != Kind::embedding) inside.push_back(edge.from);
            is_known = 1;
        }
    }
    return pruned(layout, edges);
}

std::vector<Index> merged_nodes(const PathLayout& layout, Index node, PathMerge merge) {
    const PathPart& part = layout.part_of(node);
    if (merge == PathMerge::none || part.kind == Kind::embedding || part.kind == Kind::target) return {node};
    const Index place = node - part.first_node;
    const bool over_tokens = merge == PathMerge::tokens;
    std::vector<Index> nodes(static_cast<std::size_t>(over_tokens ? part.tokens : part.heads));
    for (Index i = 0; i < std::ssize(nodes); ++i)
        nodes[static_cast<std::size_t>(i)] =
            part.first_node +
            (over_tokens ? place / part.tokens * part.tokens + i : place % part.tokens + i * part.tokens);
    return nodes;
}

PathSubgraph merged(const PathLayout& layout, const PathSubgraph& graph, PathMerge merge) {
    if (merge == PathMerge::none) return graph;
    const auto first = [&](Index node) {
        return static_cast<std::int32_t>(merged_nodes(layout, node, merge).front());
    };
    std::map<std::pair<std::int32_t, std::int32_t>, double> effects;  // keyed by reader and writer
    for (const PathEdge& edge : graph.edges) effects[{first(edge.to), first(edge.from)}] += edge.effect;
    PathSubgraph joined;
    for (const auto& [ends, effect] : effects) joined.edges.push_back({ends.second, ends.first, effect});
    for (const Index node : graph.nodes) joined.nodes.push_back(first(node));
    std::ranges::sort(joined.nodes);
    const auto [begin, end] = std::ranges::unique(joined.nodes);
    joined.nodes.erase(begin, end);
    return joined;
}

std::vector<Index> path_sizes(const PathGraph& graph, Index count) {
    std::vector<Index> sizes;
    const auto all = static_cast<double>(graph.edges().size());
    for (Index i = 0; i < count && all > 0; ++i) {
        const double exponent = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 1;
        const auto size = static_cast<Index>(std::lround(std::pow(all, exponent)));
        if (sizes.empty() || sizes.back() < size) sizes.push_back(size);
    }
    return sizes;
}

}  // namespace attn
