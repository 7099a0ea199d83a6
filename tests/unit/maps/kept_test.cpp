// Tests that reusing parts of the map of a text with another end gives the same result as a new map.
#include "maps/flows.hpp"
#include "maps/tiles.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

// A causal map of `n` tokens, whose rows before `changed` equal those of every other such map.
MapPointer map_of_text(Index n, Index changed) {
    const auto begun = [&](Index heads, Index width, std::uint64_t seed) {
        const Tensor all = random_tensor({heads, 1100, width}, seed);
        Tensor some({heads, n, width});
        for (Index head = 0; head < heads; ++head)
            for (Index row = 0; row < n; ++row)
                for (Index i = 0; i < width; ++i)
                    some.heads().head(head)(row, i) =
                        all.heads().head(head)(row, i) + (row < changed ? 0.0f : 1.0f);
        return some;
    };
    const RecordPointer r = record(begun(2, 8, 1), begun(1, 8, 2), begun(1, 6, 3), masked_by(Mask::causal()));
    return stage_map(r, 1, Stage::weight);
}

template <class Values>
void check_same(const Values& a, const Values& b) {
    CHECK(std::ranges::equal(a, b));
}

}  // namespace

TEST_CASE("A pyramid that takes tiles over equals that of its own map", "[unit][maps]") {
    const auto [before, after, kept] = GENERATE(table<Index, Index, Index>({{505, 506, 505},
                                                                            {511, 512, 511},
                                                                            {512, 513, 512},
                                                                            {506, 505, 505},
                                                                            {700, 900, 600},
                                                                            {700, 700, 256}}));
    CAPTURE(before, after, kept);
    const Pyramid old = finished(Pyramid(map_of_text(before, before)));
    const MapPointer map = map_of_text(after, kept);
    const Pyramid expected = finished(Pyramid(map));
    Pyramid pyramid(map);
    const double begun = pyramid.progress();
    pyramid.take_over(old, kept);
    CHECK((pyramid.progress() > begun) == (old.coarsest() == pyramid.coarsest()));
    pyramid = finished(std::move(pyramid));
    for (Index level = expected.finest(); level <= expected.coarsest(); ++level)
        for (Index row = 0; row < expected.tile_rows(level); ++row)
            for (Index col = 0; col < expected.tile_cols(level); ++col) {
                const Tile &got = pyramid.tile({level, row, col}), &own = expected.tile({level, row, col});
                check_same(got.strongest, own.strongest);
                check_same(got.mean, own.mean);
                CHECK(got.complete());
            }
    const MapSums sums = pyramid.sums(), own = expected.sums();
    check_same(sums.queries, own.queries);
    check_same(sums.entropies, own.entropies);
    check_same(sums.keys, own.keys);
}

TEST_CASE("A picture of a continued text is complete at once", "[unit][maps]") {
    MapTiles tiles;
    tiles.show(map_of_text(505, 505), Pooling::strongest);
    while (tiles.step()) {
    }
    tiles.show(map_of_text(506, 505), Pooling::strongest, false, 505);
    CHECK_FALSE(tiles.working());
    CHECK(tiles.extent() == 1);
    tiles.show(map_of_text(507, 0), Pooling::strongest);
    CHECK(tiles.working());
}

TEST_CASE("A flow that takes rows over equals that of its own map", "[unit][maps]") {
    // With whole rows, at the limit of whole rows, and with rows that are cut.
    const auto [before, after, kept] = GENERATE(
        table<Index, Index, Index>({{505, 506, 505}, {512, 513, 512}, {506, 300, 200}, {1000, 1001, 1000}}));
    CAPTURE(before, after, kept);
    const Flow old = finished(Flow(map_of_text(before, before)));
    const MapPointer map = map_of_text(after, kept);
    const Flow expected = finished(Flow(map));
    Flow flow(map);
    flow.take_over(old, kept);
    if (old.limits().mass == flow.limits().mass) CHECK(flow.queries() >= std::min<Index>(kept, 200));
    flow = finished(std::move(flow));
    REQUIRE(flow.edges().size() == expected.edges().size());
    for (Index query = 0; query < after; ++query) {
        CHECK(flow.kept(query) == expected.kept(query));
        const auto got = flow.edges({query, query + 1}), own = expected.edges({query, query + 1});
        CHECK(std::ranges::equal(got, own, [](const FlowEdge& a, const FlowEdge& b) {
            return a.query == b.query && a.key == b.key && a.weight == b.weight && a.before == b.before;
        }));
    }
}

TEST_CASE("Flows of a continued text keep their heads", "[unit][maps]") {
    const std::vector<HeadIndex> heads{{0, 0}, {0, 1}};
    Flows flows;
    const auto show = [&](std::uint64_t source, const MapPointer& map, Index kept) {
        flows.show(source, heads, [&](HeadIndex) { return map; }, kept);
    };
    show(1, map_of_text(100, 100), 0);
    while (flows.step()) {
    }
    show(2, map_of_text(101, 100), 100);
    CHECK(flows.of({0, 1}).flow().queries() == 100);
    while (flows.step()) {
    }
    show(3, map_of_text(101, 50), 0);
    CHECK(flows.of({0, 1}).flow().queries() == 0);
}
