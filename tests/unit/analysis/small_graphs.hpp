// Computes graphs of paths and runs them, from beginning to end.
#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/attribution/path_curve.hpp"
#include "support/small_families.hpp"

namespace attn::test {

inline const std::vector<std::int32_t> graph_ids{3, 1, 4, 1, 5, 9, 2, 6};

inline PathGraph graph_of(const std::shared_ptr<const Trace>& trace, const LogitLoss& target) {
    auto graph = PathGraph::start(trace, target);
    REQUIRE(graph);
    while (graph->step()) {
    }
    return *std::move(graph);
}

inline std::shared_ptr<PathBase> started_base(const std::shared_ptr<const PathGraph>& graph,
                                              const PathReplacement& replacement) {
    auto base = PathBase::start(graph, replacement);
    REQUIRE(base);
    return std::make_shared<PathBase>(*std::move(base));
}
inline std::shared_ptr<const PathBase> base_of(const std::shared_ptr<const PathGraph>& graph,
                                               const PathReplacement& replacement) {
    const auto base = started_base(graph, replacement);
    while (base->step()) {
    }
    return base;
}

inline double value_in(const std::shared_ptr<const PathBase>& base, const PathSubgraph& graph) {
    PathRun run(base, graph);
    while (run.step()) {
    }
    return run.value();
}

// The sum of what reaches the target, by magnitude: what differences are measured by.
inline double arriving(const PathGraph& graph) {
    double size = std::abs(graph.constant(graph.layout().target()));
    for (const PathEdge& edge : graph.edges())
        if (edge.to == graph.layout().target()) size += std::abs(edge.effect);
    return size;
}

}  // namespace attn::test
