// Compares the effects of nodes and edges with PyTorch's autograd through frozen norms, patterns and
// activations (tests/golden/paths), for the models of tests/golden/sources.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "unit/analysis/golden_runs.hpp"
#include "unit/analysis/small_graphs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

Index node_in(const PathLayout& layout, const nlohmann::json& row, std::size_t first) {
    static const std::map<std::string, PathNode::Kind> kinds{{"embedding", PathNode::Kind::embedding},
                                                             {"head", PathNode::Kind::head},
                                                             {"mlp", PathNode::Kind::mlp},
                                                             {"target", PathNode::Kind::target}};
    CAPTURE(row.dump());
    const auto node = layout.find({kinds.at(row[first]), row[first + 1], row[first + 2], row[first + 3]});
    REQUIRE(node);
    return *node;
}

LogitLoss golden_loss(const nlohmann::json& golden) {
    LogitLoss target{.raise = golden["raise"], .over = {}, .row = golden["row"].get<Index>()};
    if (!golden["over"].is_null()) target.over = golden["over"].get<std::int32_t>();
    return target;
}

}  // namespace

TEST_CASE("the effects of nodes and edges agree with PyTorch's autograd through a frozen model",
          "[analysis]") {
    const auto cases = json_in(source_dir() / "tests/golden/paths/graphs.json");
    std::size_t compared = 0;
    for (const auto& each : cases) {
        const std::string name = each["model"];
        const auto trace = golden_run(name);
        if (!trace) continue;
        ++compared;
        CAPTURE(name);
        const PathGraph graph = graph_of(trace, golden_loss(each));
        std::map<std::pair<Index, Index>, double> edges;
        for (const PathEdge& edge : graph.edges()) edges[{edge.from, edge.to}] = edge.effect;
        // The runs differ by f32, and so do patterns, statistics and activations.
        const double off = 1e-5 * arriving(graph);
        CHECK(std::abs(graph.value() - each["value"].get<double>()) < off);
        // Edges without effect are no edges there.
        CHECK(graph.edge_count() >= each["edge_count"].get<std::int64_t>());
        for (const auto& edge : each["edges"]) {
            const std::pair ends{node_in(graph.layout(), edge, 0), node_in(graph.layout(), edge, 4)};
            CAPTURE(edge.dump());
            REQUIRE(edges.contains(ends));
            CHECK(std::abs(edges[ends] - edge[8].get<double>()) < off);
        }
        double all = 0;
        for (const auto& node : each["nodes"]) {
            CAPTURE(node.dump());
            CHECK(std::abs(graph.effect(node_in(graph.layout(), node, 0)) - node[4].get<double>()) < off);
            all += std::abs(node[4].get<double>());
        }
        double ours = 0;
        for (Index node = 0; node < graph.layout().target(); ++node) ours += std::abs(graph.effect(node));
        CHECK(std::abs(ours - all) < off * std::sqrt(static_cast<double>(each["nodes"].size())));
    }
    CHECK(compared >= 2);
    if (compared < cases.size())
        WARN("shared/families is not beside this project; GPT-2 and Llama were compared");
}

TEST_CASE("what flows through a graph, and what is left without the rest, agree with PyTorch", "[analysis]") {
    for (const auto& each : json_in(source_dir() / "tests/golden/paths/graphs.json")) {
        const std::string name = each["model"];
        GoldenText text;
        const auto model = golden_model(name, text);
        if (!model) continue;
        CAPTURE(name);
        const auto trace = run_of(model, text);
        change_text(text);
        const auto other = run_of(model, text);
        const auto graph = std::make_shared<const PathGraph>(graph_of(trace, golden_loss(each)));
        std::vector<Index> sizes;
        for (const auto& point : each["ablated"]) sizes.push_back(point["count"]);
        for (const auto& [kind, replacement] :
             {std::pair{"flow", PathReplacement{.is_live = false}},
              {"zero", PathReplacement{}},
              {"mean", PathReplacement{.operation = Operation::mean}},
              {"counterfactual", PathReplacement{.operation = Operation::patch, .counterfactual = other}}}) {
            PathCurve curve(started_base(graph, replacement));
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                CAPTURE(kind, sizes[i]);
                while (curve.step(sizes[i])) {
                }
                CHECK(curve.at(sizes[i])->edges == each["ablated"][i]["kept"].get<Index>());
                const auto expected = each["ablated"][i][kind].get<double>();
                CHECK(std::abs(curve.at(sizes[i])->value - expected) <
                      1e-5 * (arriving(*graph) + std::abs(expected)));
            }
        }
    }
}
