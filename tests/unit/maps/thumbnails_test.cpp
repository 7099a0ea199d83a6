#include "maps/thumbnails.hpp"

#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::vector<MapPointer> six_maps(Index n_q, Index n_k) {
    std::vector<MapPointer> maps;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const RecordPointer r =
            record(random_tensor({2, n_q, 4}, 10 + i), random_tensor({2, n_k, 4}, 20 + i),
                   random_tensor({2, n_k, 4}, 30 + i), masked_by(Mask::causal(n_k - n_q)));
        for (Index head = 0; head < 2; ++head) maps.push_back(stage_map(r, head, Stage::weight));
    }
    return maps;
}

}  // namespace

TEST_CASE("Thumbnails are the blocks of their maps", "[unit][maps]") {
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{130, 130}, {70, 200}, {20, 20}, {1, 1}}));
    const auto maps = six_maps(n_q, n_k);
    auto started = Thumbnails::start(maps, 4);
    REQUIRE(started);
    const Thumbnails t = finished(*std::move(started));
    const Index side = Index{1} << t.level();
    CHECK(t.rows() == texels(n_q, t.level()));
    CHECK(t.cols() == texels(n_k, t.level()));
    CHECK(std::max(t.rows(), t.cols()) <= 64);
    CHECK(t.strongest().rows == 2 * t.rows());
    CHECK(t.strongest().cols == 4 * t.cols());
    for (std::size_t m = 0; m < maps.size(); ++m) {
        CHECK(t.state(m) == Thumbnails::State::exact);
        const auto cells = cells_of(*maps[m]);
        const Index place = static_cast<Index>(m);
        int wrong = 0;
        for (Index r = 0; r < t.rows(); ++r)
            for (Index c = 0; c < t.cols(); ++c) {
                const Index row = place / 4 * t.rows() + r, col = place % 4 * t.cols() + c;
                wrong += !agrees(
                    t.strongest()(row, col), t.mean()(row, col),
                    brute_force(*maps[m], cells, {r * side, (r + 1) * side}, {c * side, (c + 1) * side}),
                    side);
            }
        CHECK(wrong == 0);
    }
    CHECK(t.strongest()(2 * t.rows() - 1, 4 * t.cols() - 1) == masked_cell);  // there is no map here
}

TEST_CASE("All maps are sampled before one is exact, the viewed one first", "[unit][maps]") {
    auto started = Thumbnails::start(six_maps(200, 200), 3);
    REQUIRE(started);
    Thumbnails t = *std::move(started);
    t.look_at(4);
    while (t.sampled() == 0) REQUIRE(t.step());
    CHECK(t.state(4) == Thumbnails::State::sampled);
    CHECK(t.state(0) == Thumbnails::State::nothing);
    while (t.exact() == 0) REQUIRE(t.step());
    CHECK(t.sampled() == 6);
    CHECK(t.state(4) == Thumbnails::State::exact);
    CHECK(t.state(5) == Thumbnails::State::sampled);
    CHECK(t.version() == 7);
}

TEST_CASE("No maps, no thumbnails", "[unit][maps]") {
    auto started = Thumbnails::start({}, 3);
    REQUIRE(started);
    CHECK(started->done());
    CHECK(!started->step());
}

TEST_CASE("Thumbnails of maps of several shapes have the scale of the largest", "[unit][maps]") {
    const std::vector<MapPointer> maps{stage_map(random_record(200, 200), 0, Stage::weight),
                                       stage_map(random_record(30, 200), 0, Stage::weight),
                                       stage_map(random_record(30, 30), 0, Stage::weight)};
    auto started = Thumbnails::start(maps, 3);
    REQUIRE(started);
    const Thumbnails t = finished(*std::move(started));
    REQUIRE(t.level() == 2);
    const Index side = Index{1} << t.level();
    for (Index m = 0; m < 3; ++m) {
        const Map& map = *maps[static_cast<std::size_t>(m)];
        const auto cells = cells_of(map);
        int wrong = 0;
        for (Index r = 0; r < t.rows(); ++r)
            for (Index c = 0; c < t.cols(); ++c) {
                const Index col = m * t.cols() + c;
                if (r * side >= map.queries() || c * side >= map.keys())
                    wrong += t.strongest()(r, col) != masked_cell;
                else
                    wrong += !agrees(
                        t.strongest()(r, col), t.mean()(r, col),
                        brute_force(map, cells, {r * side, (r + 1) * side}, {c * side, (c + 1) * side}),
                        side);
            }
        CHECK(wrong == 0);
    }
}
