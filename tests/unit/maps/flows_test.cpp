#include "maps/flows.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/heads/head_maps.hpp"
#include "maps/flow_shape.hpp"
#include "model/forward.hpp"
#include "support/files.hpp"

using namespace attn;

namespace {

// Runs a GPT-2 with 2 layers and 3 heads.
std::shared_ptr<const Trace> run(std::vector<std::int32_t> flow_ids) {
    const auto folder = test::source_dir() / "tests/golden/model/gpt2-f32";
    ModelFiles files;
    files.config = test::read_file(folder / "config.json");
    files.weights["model.safetensors"] = test::read_file(folder / "model.safetensors");
    const auto model = Model::load(std::move(files));
    REQUIRE(model);
    const auto trace = run_forward(*model, flow_ids);
    REQUIRE(trace);
    return *trace;
}

void show_heads(Flows& flows, const std::shared_ptr<const Trace>& trace, std::span<const HeadIndex> heads) {
    flows.show(reinterpret_cast<std::uintptr_t>(trace.get()), heads, [&](HeadIndex head) {
        return map_of(trace, head.layer, head.head, Stage::weight, Sink::shown);
    });
}

const std::vector<std::int32_t> flow_ids{3, 1, 4, 1, 5, 9, 2, 6};

}  // namespace

TEST_CASE("flows show the shown heads, the first of them before the others") {
    const auto trace = run(flow_ids);
    const std::vector<HeadIndex> heads{{1, 2}, {0, 1}};
    Flows flows;
    show_heads(flows, trace, heads);
    CHECK(flows.progress() == 0);
    CHECK(flows.step());
    CHECK(flows.of({1, 2}).flow().done());
    CHECK_FALSE(flows.of({0, 1}).flow().done());
    CHECK_FALSE(flows.step());
    CHECK(flows.progress() == 1);
    for (const HeadIndex& head : heads) {
        const Record& record = trace->layers()[static_cast<std::size_t>(head.layer)].attention;
        for (Index q = 0; q < std::ssize(flow_ids); ++q) {
            const auto edges = flows.of(head).flow().edges({q, q + 1});
            CHECK(std::ssize(edges) == q + 1);  // causal, and no weight is 0
            for (const FlowEdge& edge : edges) CHECK(edge.weight == record.weights(head.head, q)[edge.key]);
        }
    }
}

TEST_CASE("existing flows are kept, up to the limit, until another run") {
    const auto trace = run(flow_ids);
    Flows flows;
    const auto show = [&](HeadIndex head) {
        const std::vector<HeadIndex> heads{head};
        show_heads(flows, trace, heads);
        while (flows.step()) {
        }
        return flows.of(head).serial();
    };
    const auto first = show({0, 0});
    CHECK(show({0, 1}) != first);
    CHECK(show({0, 0}) == first);
    // The sixth head is still below the limit, so all are kept.
    for (const HeadIndex head : {HeadIndex{0, 2}, HeadIndex{1, 0}, HeadIndex{1, 1}, HeadIndex{1, 2}})
        show(head);
    CHECK(show({0, 0}) == first);
    const auto other = run({1, 2, 3});
    const std::vector<HeadIndex> heads{{0, 0}};
    show_heads(flows, other, heads);
    CHECK(flows.of({0, 0}).serial() != first);
    CHECK_FALSE(flows.of({0, 0}).flow().done());
}

TEST_CASE("a word's own edges are its whole row, and the edges into it") {
    const auto trace = run(flow_ids);
    Flows flows;
    const std::vector<HeadIndex> heads{{1, 0}};
    show_heads(flows, trace, heads);
    HeadFlow& head = flows.of({1, 0});
    const EdgeList& early = head.from(5);  // the flow has not reached it yet
    CHECK(early.edges.size() == 6);
    const auto serial = early.serial;
    CHECK(head.from(5).serial == serial);
    CHECK(head.into(2).edges.empty());
    const auto nothing = head.into(2).serial;
    while (flows.step()) {
    }
    const EdgeList& into = head.into(2);
    CHECK(into.serial != nothing);
    CHECK(into.edges.size() == 6);  // queries 2 … 7
    CHECK(std::ranges::all_of(into.edges, [](const FlowEdge& edge) { return edge.key == 2; }));
    CHECK(std::ranges::is_sorted(into.edges, {}, &FlowEdge::weight));
    CHECK(head.from(6).serial != serial);
}

TEST_CASE("edges run from the query to the key, arcs above the line and curves between the columns") {
    const FlowShape arcs{.form = FlowForm::arcs, .rise = 68};
    const FlowPoint from = arcs.at(300, 100, 0), top = arcs.at(300, 100, 0.5f), to = arcs.at(300, 100, 1);
    CHECK((from.x == 300 && from.y == 0 && to.x == 100 && to.y == 0));
    CHECK((top.x == 200 && top.y == -arcs.height(200)));
    CHECK(arcs.height(0) == 10);
    CHECK(arcs.height(1e6f) == 68);
    CHECK(arcs.is_loop(5, 5));
    CHECK(arcs.at(5, 5, 0.5f).y < arcs.at(5, 5, 0).y);

    const FlowShape columns{.form = FlowForm::columns, .width = 400};
    const FlowPoint left = columns.at(30, 90, 0), middle = columns.at(30, 90, 0.5f),
                    right = columns.at(30, 90, 1);
    CHECK((left.x == 0 && left.y == 30 && right.x == 400 && right.y == 90));
    CHECK((middle.x == 200 && middle.y == 60));
    CHECK_FALSE(columns.is_loop(5, 5));
}

TEST_CASE("the distance to an edge is the distance to its curve") {
    for (const FlowShape& shape :
         {FlowShape{.form = FlowForm::arcs, .rise = 68}, FlowShape{.form = FlowForm::columns, .width = 400}})
        for (const auto& [query, key] : {std::pair{300.0f, 100.0f}, {20.0f, 35.0f}, {40.0f, 40.0f}}) {
            for (const float t : {0.1f, 0.25f, 0.5f, 0.8f}) {
                const FlowPoint p = shape.at(query, key, t);
                INFO(query << " → " << key << ", t " << t);
                // At these sizes, its 24 straight pieces are less than a point away from the curve.
                CHECK(shape.distance(query, key, p) < 1);
                // A fine sampling of the curve finds the same distance from a point next to it.
                const FlowPoint beside{p.x, p.y - 20};
                float least = 1e9f;
                for (int i = 0; i <= 4000; ++i) {
                    const FlowPoint c = shape.at(query, key, static_cast<float>(i) / 4000);
                    least = std::min(least, std::hypot(c.x - beside.x, c.y - beside.y));
                }
                CHECK(std::abs(shape.distance(query, key, beside) - least) < 1);
            }
            CHECK(shape.distance(query, key, {-50, 0}) > 1000);
        }
}
