#include "maps/flow.hpp"

#include <algorithm>
#include <cstring>

#include "support/threads.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// Finds a row's edges by their definition: repeatedly takes the heaviest remaining cell. Returns the lightest
// first.
std::vector<FlowEdge> by_definition(const Map& map, Index query, const FlowLimits& limits) {
    std::vector<float> left = cells_of(map, {{query, query + 1}, {0, map.keys()}});
    const auto counts = [](float w) { return w > 0 && w < infinity; };
    double sum = 0, mass = 0;
    for (const float w : left) sum += counts(w) ? static_cast<double>(w) : 0;
    std::vector<FlowEdge> edges;
    while (std::ssize(edges) < limits.most && (limits.mass >= 1 || mass < limits.mass * sum)) {
        std::size_t best = left.size();
        for (std::size_t k = 0; k < left.size(); ++k)
            if (counts(left[k]) && (best == left.size() || left[k] > left[best])) best = k;
        if (best == left.size()) break;
        edges.push_back({static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(best), left[best],
                         static_cast<float>(mass / sum)});
        mass += static_cast<double>(left[best]);
        left[best] = 0;
    }
    std::ranges::reverse(edges);
    return edges;
}

bool same(std::span<const FlowEdge> a, std::span<const FlowEdge> b) {
    // `before` is summed in the same order, so it agrees to the last bit; the sum of the row may be off by
    // one.
    return std::ranges::equal(a, b, [](const FlowEdge& x, const FlowEdge& y) {
        return x.query == y.query && x.key == y.key && x.weight == y.weight &&
               std::abs(x.before - y.before) <= 1.2e-7f;
    });
}

// Makes a map of the given weights.
MapPointer given(std::vector<float> cells, Index queries, Index keys) {
    const auto kept = std::make_shared<const std::vector<float>>(std::move(cells));
    const auto map = finished_map(
        {kept, {DType::f32, false, {queries, keys}, {keys, 1}, std::as_bytes(std::span(*kept))}});
    REQUIRE(map);
    return *map;
}

double mass_of(std::span<const FlowEdge> edges) {
    double mass = 0;
    for (const FlowEdge& edge : edges) mass += static_cast<double>(edge.weight);
    return mass;
}

}  // namespace

TEST_CASE("The edges of a flow are the heaviest cells of every row", "[unit][maps]") {
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{1, 1}, {40, 40}, {7, 60}, {60, 7}, {130, 90}}));
    const auto limits = GENERATE(FlowLimits{}, FlowLimits{0.99}, FlowLimits{0.5}, FlowLimits{0.99, 5});
    for (const Mask& mask : all_masks(n_q, n_k)) {
        const MapPointer map = stage_map(random_record(n_q, n_k, masked_by(mask)), 1, Stage::weight);
        const Flow flow = finished(Flow(map, limits));
        REQUIRE(flow.queries() == n_q);
        std::size_t all = 0;
        for (Index q = 0; q < n_q; ++q) {
            const auto expected = by_definition(*map, q, limits), found = flow_row(*map, q, limits);
            const auto row = flow.edges({q, q + 1});
            INFO(mask.text() << ", query " << q);
            REQUIRE(same(row, expected));
            REQUIRE(same(found, expected));
            // Rows are empty or sum to 1 as precisely as f32 allows.
            REQUIRE(std::abs(static_cast<double>(flow.kept(q)) - (row.empty() ? 1 : mass_of(row))) < 1e-5);
            all += row.size();
        }
        CHECK(flow.edges().size() == all);
        CHECK(flow.edges({0, n_q + 5}).size() == all);
    }
}

TEST_CASE("A share of a row is made up of the fewest edges that reach it", "[unit][maps]") {
    const MapPointer map = stage_map(random_record(50, 50, masked_by(Mask::causal())), 0, Stage::weight);
    const float mass = GENERATE(0.0f, 0.3f, 0.8f, 0.99f, 1.0f);
    const Flow flow = finished(Flow(map));
    for (Index q = 0; q < 50; ++q) {
        const auto row = flow.edges({q, q + 1});
        const auto drawn = making_up(row, mass);
        CHECK(mass_of(drawn) >= static_cast<double>(mass) - 2e-6);
        if (!drawn.empty()) CHECK(mass_of(drawn.subspan(1)) < static_cast<double>(mass));
    }
}

TEST_CASE("A share that a row reaches exactly needs no further edge", "[unit][maps]") {
    const auto row = flow_row(*given({0.125f, 0.8f, 0.075f}, 1, 3), 0);
    CHECK(making_up(row, 0.8f).size() == 1);
    CHECK(making_up(row, 0.81f).size() == 2);
    CHECK(making_up(row, 0).empty());
}

TEST_CASE("Among equal weights the first key is the heavier, and an invalid weight is not an edge",
          "[unit][maps]") {
    const MapPointer map = given({0.25f, 0.5f, 0.25f, 0, not_a_number, 2, -1, infinity, 0, 0, 0, 0}, 3, 4);
    const auto first = flow_row(*map, 0);
    REQUIRE(first.size() == 3);
    CHECK((first[0].key == 2 && first[1].key == 0 && first[2].key == 1));
    CHECK((first[0].before == 0.75f && first[1].before == 0.5f && first[2].before == 0));
    const Flow flow = finished(Flow(map));
    REQUIRE(flow.edges({1, 2}).size() == 1);
    CHECK((flow.edges({1, 2})[0].key == 1 && flow.edges({1, 2})[0].weight == 2));
    CHECK(flow.edges({2, 3}).empty());
    CHECK(flow.kept(2) == 1);
}

TEST_CASE("A flow of a long text stays within its memory", "[unit][maps]") {
    const Index n = 2048;
    // These weights are as even as possible, which is the worst case.
    const RecordPointer even =
        record(Tensor({1, n, 4}), Tensor({1, n, 4}), Tensor({1, n, 4}), masked_by(Mask::causal()));
    const Flow flow = finished(Flow(stage_map(even, 0, Stage::weight)));
    CHECK(flow.limits().most == Flow::most_edges / n);
    CHECK(flow.limits().mass == 0.99);
    CHECK(flow.edges().size() <= static_cast<std::size_t>(Flow::most_edges));
    CHECK(flow.bytes() <= static_cast<std::size_t>(Flow::most_edges) * sizeof(FlowEdge) +
                              2 * static_cast<std::size_t>(n) * (sizeof(std::size_t) + sizeof(float)));
    CHECK(flow.kept(n - 1) == Catch::Approx(128.0 / 2048).epsilon(1e-4));  // f32 weights of 1 / n
    CHECK(flow.kept(99) >= 0.99f);
    CHECK(Flow::usual_limits(512, 512).mass == 1);
    CHECK(Flow::usual_limits(Index{1} << 20, 10).most == 1);
}

TEST_CASE("A flow does not depend on the number of threads, and comes in slices", "[unit][maps][threads]") {
    const MapPointer map = stage_map(random_record(700, 700, masked_by(Mask::causal())), 0, Stage::weight);
    const auto all_of = [&](int threads) {
        const Threads in_use(threads);
        return finished(Flow(map));
    };
    const Threads alone(1);
    Flow flow(map);
    REQUIRE(flow.step());
    CHECK(flow.queries() == (Index{1} << 16) / 700);
    CHECK((flow.progress() > 0 && flow.progress() < 1));
    const Flow one = finished(std::move(flow)), three = all_of(3);
    REQUIRE(one.edges().size() == three.edges().size());
    CHECK(std::memcmp(one.edges().data(), three.edges().data(), one.edges().size_bytes()) == 0);
    CHECK(three.progress() == 1);
}

TEST_CASE("A map without queries has no flow", "[unit][maps]") {
    Flow flow(stage_map(random_record(0, 3), 0, Stage::weight));
    CHECK(flow.done());
    CHECK(!flow.step());
    CHECK(flow.edges().empty());
    CHECK(flow.progress() == 1);
}
