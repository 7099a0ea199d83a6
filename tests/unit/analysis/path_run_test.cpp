#include "analysis/attribution/path_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <set>
#include <tuple>

#include "analysis/attribution/path_grid.hpp"
#include "analysis/attribution/path_proof.hpp"
#include "support/this_build.hpp"
#include "unit/analysis/small_graphs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

constexpr LogitLoss run_target{.raise = 2, .over = 11, .row = 7};

std::shared_ptr<const PathGraph> shared_graph(const std::shared_ptr<const Trace>& trace) {
    return std::make_shared<const PathGraph>(graph_of(trace, run_target));
}

const std::array all_replacements{PathReplacement{.is_live = false}, PathReplacement{},
                                  PathReplacement{.is_live = false, .operation = Operation::mean},
                                  PathReplacement{.operation = Operation::mean}};

// With all edges, a run is the model's own, whatever would replace the others.
void check_whole(const std::shared_ptr<const PathGraph>& graph) {
    const PathSubgraph whole = strongest_subgraph(*graph, std::ssize(graph->edges()));
    for (const PathReplacement& replacement : all_replacements) {
        CAPTURE(replacement.is_live, static_cast<int>(replacement.operation));
        CHECK(std::abs(value_in(base_of(graph, replacement), whole) - graph->value()) <
              2e-5 * arriving(*graph));
    }
}

}  // namespace

TEST_CASE("with all of its edges, a graph keeps the whole logit, in every family", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto graph = shared_graph(*run_text(small_model(family), graph_ids));
        REQUIRE(std::ssize(graph->edges()) == graph->edge_count());
        check_whole(graph);
        CHECK(kept_share(*graph, graph->value()) == 1);
    }
}

TEST_CASE("with all of its edges, a graph of a changed run keeps the whole logit", "[analysis]") {
    std::size_t count = 0;  // goes on through the families, so that each tries other sites
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), graph_ids);
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (int at = 0; at < site_count; ++at) {
                const auto site = static_cast<Site>(at);
                if (site == Site::mask || count++ % (sanitized ? 25 : 5) != 0) continue;
                const Operation operation = attention % 2 == 0 ? Operation::scale : Operation::set;
                Intervention each{.attention = attention,
                                  .site = site,
                                  .edit = {.rows = {2, 7}, .operation = operation, .values = {-0.5f}}};
                if (is_of_heads(site)) each.edit.head = 0;
                if (operation == Operation::set) each.edit.columns = {1, 3};
                auto forward = ForwardPass::start_with({each}, trace);
                REQUIRE(forward);
                CAPTURE(attention, info(site).key);
                check_whole(shared_graph(*forward->finish()));
            }
    }
}

TEST_CASE("while everything is held, an edge that falls away takes its effect with it", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto graph = shared_graph(*run_text(small_model(family), graph_ids));
        const auto base = base_of(graph, {.is_live = false});
        for (std::size_t i = 0; i < graph->edges().size(); i += 1 + i / 2) {
            std::vector<PathEdge> edges(graph->edges().begin(), graph->edges().end());
            const PathEdge without = edges[i];
            edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(i));
            PathSubgraph left = pruned(graph->layout(), edges);
            if (std::ssize(left.edges) + 1 < graph->edge_count()) continue;  // others fell away with it
            CAPTURE(i, without.from, without.to);
            CHECK(std::abs(graph->value() - value_in(base, left) - without.effect) < 2e-5 * arriving(*graph));
        }
    }
}

TEST_CASE("a graph without edges has what replaces them", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), graph_ids);
        const auto graph = shared_graph(trace);
        CHECK(std::abs(value_in(base_of(graph, {.is_live = false}), {}) -
                       graph->constant(graph->layout().target())) < 1e-5 * arriving(*graph));
        // What this run itself writes replaces nothing.
        const PathReplacement itself{.operation = Operation::patch, .counterfactual = trace};
        CHECK(std::abs(value_in(base_of(graph, itself), {}) - graph->value()) < 2e-5 * arriving(*graph));
    }
    const auto model = small_model(small_families.front());
    const auto graph = shared_graph(*run_text(model, graph_ids));
    CHECK(!PathBase::start(graph, {.operation = Operation::patch}));
    CHECK(
        !PathBase::start(graph, {.operation = Operation::patch, .counterfactual = *run_text(model, {3, 1})}));
}

TEST_CASE("edges on no path from an embedding to the target fall away", "[analysis]") {
    const auto graph = shared_graph(*run_text(small_model(small_families.front()), graph_ids));
    const PathLayout& layout = graph->layout();
    const auto node = [&](PathNode::Kind kind, Index number, Index head, Index token) {
        return static_cast<std::int32_t>(*layout.find({kind, number, head, token}));
    };
    using enum PathNode::Kind;
    const std::int32_t word = node(embedding, 0, 0, 4), early = node(head, 0, 1, 7),
                       late = node(head, 1, 0, 7), units = node(mlp, 0, 0, 7),
                       end = node(PathNode::Kind::target, 1, 0, 7);
    const PathSubgraph left = pruned(
        layout, std::vector<PathEdge>{
                    {units, end, 5}, {word, early, 1}, {early, units, 2}, {late, end, 4}, {early, late, 0}});
    CHECK(left.edges.size() == 5);
    const PathSubgraph less = pruned(
        layout, std::vector<PathEdge>{{units, end, 5}, {word, early, 1}, {late, end, 4}, {early, late, 0}});
    CHECK(less.edges == std::vector<PathEdge>{{word, early, 1}, {early, late, 0}, {late, end, 4}});
    CHECK(less.nodes == std::vector<Index>{word, early, late, end});
    CHECK(pruned(layout, std::vector<PathEdge>{{units, end, 5}, {word, early, 1}}).edges.empty());
}

TEST_CASE("a random graph has as many edges, all on paths, and the same ones for the same seed",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto graph = shared_graph(*run_text(small_model(family), graph_ids));
        const auto there = [&](const PathEdge& edge) {
            return std::ranges::any_of(graph->edges(), [&](const PathEdge& each) {
                return each.from == edge.from && each.to == edge.to;
            });
        };
        for (const Index count : {1, 5, 40}) {
            const PathSubgraph one = random_subgraph(*graph, count, 3),
                               again = random_subgraph(*graph, count, 3);
            CHECK(std::ssize(one.edges) == count);
            CHECK(one.edges == again.edges);
            CHECK(std::ranges::all_of(one.edges, there));
        }
        CHECK(random_subgraph(*graph, 40, 3).edges != random_subgraph(*graph, 40, 4).edges);
    }
}

TEST_CASE("a curve measures sizes in any order, and random graphs beside them", "[analysis]") {
    const auto graph = shared_graph(*run_text(small_model(small_families.front()), graph_ids));
    const std::vector<Index> sizes = path_sizes(*graph, 20);
    CHECK(sizes.front() == 1);
    CHECK(sizes.back() == graph->edge_count());
    CHECK(std::ranges::is_sorted(sizes));
    constexpr std::uint64_t random_graphs = 3;
    const auto base = started_base(graph, {});
    PathCurve curve(base), random(base, random_graphs);
    for (const Index size : sizes | std::views::reverse)
        for (PathCurve* each : {&curve, &random}) {
            each->step(7);  // gives way
            while (each->step(size)) {
            }
        }
    REQUIRE(curve.points().size() == sizes.size());
    CHECK(std::ranges::is_sorted(curve.points(), {}, &PathCurve::Point::count));
    CHECK(kept_share(*graph, curve.points().back().value) == Catch::Approx(1).epsilon(1e-4));
    for (const Index size : sizes) {
        const PathCurve::Point& point = *random.at(size);
        CHECK(point.edges <= curve.at(size)->edges);
        REQUIRE(point.random.size() == random_graphs);
        double sum = 0;
        for (std::size_t i = 0; i < random_graphs; ++i) {
            const PathSubgraph one = random_subgraph(*graph, curve.at(size)->edges, i + 1);
            CHECK(point.random[i] == value_in(base, one));
            sum += point.random[i];
        }
        CHECK(point.value == Catch::Approx(sum / random_graphs));
    }
}

TEST_CASE("the fewest edges that keep a share are found, whatever was measured before", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto graph = shared_graph(*run_text(small_model(family), graph_ids));
        const std::vector<Index> sizes = path_sizes(*graph, 12);
        const auto found_in = [&](PathCurve& curve, double share) {
            PathCurve::Reach reach = curve.reach(share, sizes);
            for (; !reach.is_known; reach = curve.reach(share, sizes))
                while (curve.step(reach.count)) {
                }
            return reach.count;
        };
        const auto base = started_base(graph, {.is_live = false});
        PathCurve curve(base);
        Index before = 0;
        for (const double share : {0.1, 0.5, 0.8, 0.95}) {
            const Index count = found_in(curve, share);
            PathCurve anew(base);
            CHECK(found_in(anew, share) == count);
            CHECK(kept_share(*graph, anew.at(count)->value) >= share);
            for (const PathCurve::Point& each : anew.points())
                if (each.count < count) CHECK(kept_share(*graph, each.value) < share);
            CHECK(count >= before);
            before = count;
        }
        CHECK(found_in(curve, 1e6) == sizes.back());
    }
}

TEST_CASE("nodes that stand together are joined, and their edges add up", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto graph = shared_graph(*run_text(small_model(family), graph_ids));
        const PathLayout& layout = graph->layout();
        const PathSubgraph whole = strongest_subgraph(*graph, std::ssize(graph->edges()));
        CHECK(merged(layout, whole, PathMerge::none).edges == whole.edges);
        for (const PathMerge merge : {PathMerge::tokens, PathMerge::heads}) {
            const PathSubgraph joined = merged(layout, whole, merge);
            CHECK(joined.edges.size() < whole.edges.size());
            CHECK(std::ranges::is_sorted(joined.nodes));
            double ours = 0, all = 0;
            for (const PathEdge& edge : whole.edges) all += edge.effect;
            for (const PathEdge& edge : joined.edges) {
                ours += edge.effect;
                CHECK(edge.from < edge.to);
            }
            CHECK(ours == Catch::Approx(all).margin(1e-9 * arriving(*graph)));
            for (const Index node : whole.nodes) {
                const std::vector<Index> together = merged_nodes(layout, node, merge);
                CHECK(std::ranges::count(together, node) == 1);
                CHECK(std::ranges::binary_search(joined.nodes, together.front()));
                for (const Index each : together) {
                    const PathNode one = layout.node(node), other = layout.node(each);
                    CHECK(other.kind == one.kind);
                    CHECK(other.number == one.number);
                    CHECK((merge == PathMerge::tokens ? other.head == one.head : other.token == one.token));
                }
            }
        }
    }
}

TEST_CASE("a graph has its place in a picture: rows are parts, columns are tokens", "[analysis]") {
    const auto graph = shared_graph(*run_text(small_model(small_families.front()), graph_ids));
    const PathLayout& layout = graph->layout();
    const Index all = std::ssize(graph->edges());
    for (const PathMerge merge : {PathMerge::none, PathMerge::tokens, PathMerge::heads}) {
        CAPTURE(static_cast<int>(merge));
        const PathSubgraph fits = fitting_subgraph(*graph, all, merge, 5, 30);
        CHECK(std::ssize(fits.edges) <= 30);
        CHECK_FALSE(fits.edges.empty());
        CHECK(grid_of(layout, fits, merge).columns <= 5);
        for (const PathSubgraph& each : {fits, merged(layout, strongest_subgraph(*graph, all), merge)}) {
            const PathGrid grid = grid_of(layout, each, merge);
            REQUIRE(grid.places.size() == each.nodes.size());
            std::set<std::tuple<Index, double, Index>> cells;
            for (const PathGrid::Place& place : grid.places) {
                CHECK(cells.insert({place.row, place.column, place.level}).second);
                CHECK(place.column >= 0);
                CHECK(place.column <= static_cast<double>(grid.columns - 1));
                CHECK(place.level < grid.heights[static_cast<std::size_t>(place.row)]);
            }
            for (const PathEdge& edge : each.edges) {
                const auto row = [&](Index node) {
                    return std::ranges::find(grid.places, node, &PathGrid::Place::node)->row;
                };
                CHECK(row(edge.from) < row(edge.to));
            }
        }
    }
    const PathSubgraph few = strongest_subgraph(*graph, 30);
    const std::vector<PathEdge> chain = strongest_chain(layout, few);
    CHECK(layout.node(chain.front().from).kind == PathNode::Kind::embedding);
    CHECK(chain.back().to == layout.target());
    for (std::size_t i = 1; i < chain.size(); ++i) CHECK(chain[i - 1].to == chain[i].from);
    const std::vector<bool> feeds = feeding(layout, few, layout.target());
    for (const Index node : few.nodes) CHECK(feeds[static_cast<std::size_t>(node)]);
    const std::vector<bool> last = feeding(layout, few, chain.front().from);
    CHECK(std::ranges::count(last, true) == 1);
}

TEST_CASE("a proof measures the smallest graph first, then all sizes, and can be taken with another ablation",
          "[analysis]") {
    const auto graph = shared_graph(*run_text(small_model(small_families.front()), graph_ids));
    PathProof proof(graph);
    CHECK(proof.taken() == 0);
    while (proof.step(0.5)) {
    }
    const Index few = proof.taken(), all = std::ssize(graph->edges());
    CHECK(few > 0);
    CHECK_FALSE(proof.proves());
    CHECK(proof.points(PathMeasure::proof).empty());
    CHECK(kept_share(*graph, proof.at(PathMeasure::flow, few)->value) >= 0.5);
    for (const Operation operation : {Operation::zero, Operation::mean}) {
        proof.forget_proof();
        REQUIRE(proof.replace_rest({.operation = operation}));
        while (!proof.at(PathMeasure::random, few)) CHECK(proof.step(0.5));
        CHECK(proof.points(PathMeasure::proof).size() <= 2);
        while (proof.step(0.5)) {
        }
        CHECK(proof.at(PathMeasure::proof, few)->value ==
              value_in(base_of(graph, {.operation = operation}), strongest_subgraph(*graph, few)));
        CHECK(kept_share(*graph, proof.at(PathMeasure::proof, all)->value) == Catch::Approx(1).epsilon(1e-3));
        CHECK_FALSE(proof.at(PathMeasure::random, all));
        CHECK(proof.at(PathMeasure::random, few)->random.size() == PathProof::random_graphs);
    }
    while (proof.step(1e6)) {
    }
    CHECK(proof.taken() == all);
    CHECK(proof.at(PathMeasure::random, all));
    CHECK_FALSE(proof.replace_rest({.operation = Operation::patch}));
}
