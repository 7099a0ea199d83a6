#include "analysis/attribution/path_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "support/this_build.hpp"
#include "unit/analysis/small_graphs.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Each node's effect is the sum over the edges into it and its constant, and over the edges out of it. What
// is off is f32: of the gradient, of what nodes give and of the run.
void check_sums(const PathGraph& graph) {
    std::map<Index, double> sums, sizes, left, left_sizes;
    for (const PathEdge& edge : graph.edges()) {
        sums[edge.to] += edge.effect;
        sizes[edge.to] += std::abs(edge.effect);
        left[edge.from] += edge.effect;
        left_sizes[edge.from] += std::abs(edge.effect);
    }
    REQUIRE(std::ssize(graph.edges()) == graph.edge_count());
    const double all = arriving(graph);
    for (Index node = 0; node < graph.layout().nodes(); ++node) {
        const PathNode at = graph.layout().node(node);
        CHECK(graph.layout().find(at) == node);
        CAPTURE(static_cast<int>(at.kind), at.number, at.head, at.token);
        if (at.kind != PathNode::Kind::target)
            CHECK(std::abs(left[node] - graph.effect(node)) < 1e-5 * left_sizes[node] + 1e-6 * all + 1e-9);
        if (at.kind == PathNode::Kind::embedding) continue;
        CHECK(std::abs(sums[node] - graph.incoming(node)) < 1e-12 * (1 + sizes[node]));
        CHECK(std::abs(graph.incoming(node) + graph.constant(node) - graph.effect(node)) <
              1e-5 * (sizes[node] + std::abs(graph.constant(node))) + 1e-6 * all + 1e-9);
    }
    CHECK(graph.effect(graph.layout().target()) == graph.value());
}

}  // namespace

TEST_CASE("the effect of each node is the sum over its edges and its constant, in every family",
          "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), graph_ids);
        for (const LogitLoss& target :
             {LogitLoss{.raise = 7, .over = {}, .row = 7}, LogitLoss{.raise = 2, .over = 11, .row = 5}})
            check_sums(graph_of(trace, target));
    }
}

TEST_CASE("the sums over edges close under interventions at every site", "[analysis]") {
    std::size_t count = 0;  // goes on through the families, so that each tries other sites
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), graph_ids);
        for (Index attention = 0; attention < trace->attentions(); ++attention)
            for (int at = 0; at < site_count; ++at)
                for (const Operation operation : {Operation::scale, Operation::set}) {
                    if (count++ % (sanitized ? 25 : 5) != 0) continue;
                    const auto site = static_cast<Site>(at);
                    const bool is_mask = site == Site::mask;
                    Intervention each{.attention = attention,
                                      .site = site,
                                      .edit = {.rows = {2, 7}, .operation = operation, .values = {-0.5f}}};
                    if (is_of_heads(site)) each.edit.head = 0;
                    // A whole stream of one number would have a norm of next to nothing.
                    if (operation == Operation::set) each.edit.columns = {1, 3};
                    if (is_mask) each.edit = {.rows = {7}, .columns = {2}, .operation = Operation::zero};
                    auto forward = ForwardPass::start_with({each}, trace);
                    REQUIRE(forward);
                    CAPTURE(attention, info(site).key, static_cast<int>(operation));
                    check_sums(graph_of(*forward->finish(), {.raise = 2, .over = 11, .row = 7}));
                }
    }
}

TEST_CASE("the sums over edges close with a residual of 1e4", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto trace = *run_text(small_model(family), graph_ids);
        const Intervention large{
            .attention = trace->attentions() - 1,
            .site = Site::resid_pre,
            .edit = {.rows = {3, 7}, .columns = {2}, .operation = Operation::add, .values = {1e4f}}};
        auto forward = ForwardPass::start_with({large}, trace);
        REQUIRE(forward);
        check_sums(graph_of(*forward->finish(), {.raise = 2, .over = 11, .row = 7}));
    }
}

TEST_CASE("a graph of one token, and of a query that sees nothing, closes as well", "[analysis]") {
    for (const SmallFamily& family : all_small_families()) {
        CAPTURE(family.name);
        const auto model = small_model(family);
        check_sums(graph_of(*run_text(model, {5}), {.raise = 3, .over = {}}));
        if (model->config().decoder_layers > 0) continue;
        auto pass = ForwardPass::start_under(Mask::causal() & !Mask::window(0, 0), model, graph_ids);
        REQUIRE(pass);
        const PathGraph graph = graph_of(*pass->finish(), {.raise = 3, .over = {}, .row = 4});
        check_sums(graph);
        const auto first = graph.layout().find({PathNode::Kind::head, 0, 0, 0});
        REQUIRE(first);
        CHECK(graph.effect(*first) == 0);
        CHECK(std::ranges::none_of(graph.edges(), [&](const PathEdge& edge) { return edge.to == *first; }));
    }
}

TEST_CASE("an impossible target of a graph is refused", "[analysis]") {
    const auto trace = *run_text(small_model(small_families.front()), graph_ids);
    CHECK(PathGraph::start(trace, {.raise = 20, .over = {}}).error().message ==
          "Token 20 is outside the vocabulary of 20.");
    CHECK(PathGraph::start(trace, {.raise = 2, .over = {}, .row = 8}).error().message ==
          "There is no token 8 in a text of 8.");
}
