#include "maps/pyramid.hpp"

#include "support/threads.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// Counts the texels of all levels that are wrong.
int wrong(const Pyramid& pyramid) {
    const Map& map = pyramid.map();
    const auto cells = cells_of(map);
    int count = 0;
    for (Index level = pyramid.finest(); level <= pyramid.coarsest(); ++level) {
        const Index side = Index{1} << level;
        for (Index row = 0; row < texels(map.queries(), level); ++row)
            for (Index col = 0; col < texels(map.keys(), level); ++col) {
                const Tile& tile = pyramid.tile({level, row / tile_side, col / tile_side});
                const auto at = static_cast<std::size_t>(row % tile_side * tile.cols + col % tile_side);
                const bool empty = tile.strongest.empty();
                count +=
                    !tile.ready_at(row % tile_side, col % tile_side) ||
                    !agrees(empty ? masked_cell : tile.strongest[at], empty ? masked_cell : tile.mean[at],
                            brute_force(map, cells, {row * side, (row + 1) * side},
                                        {col * side, (col + 1) * side}),
                            side);
            }
    }
    return count;
}

bool same(const Pyramid& a, const Pyramid& b) {
    if (a.finest() != b.finest() || a.coarsest() != b.coarsest()) return false;
    for (Index l = a.finest(); l <= a.coarsest(); ++l)
        for (Index row = 0; row < a.tile_rows(l); ++row)
            for (Index col = 0; col < a.tile_cols(l); ++col) {
                const Tile &x = a.tile({l, row, col}), &y = b.tile({l, row, col});
                if (x.strongest != y.strongest || x.mean != y.mean) return false;
            }
    const MapSums x = a.sums(), y = b.sums();
    return x.queries == y.queries && x.keys == y.keys && x.entropies == y.entropies;
}

constexpr std::size_t one_tile = 2 * sizeof(float) * 256 * 256;

}  // namespace

TEST_CASE("The levels of a pyramid match brute force", "[unit][maps]") {
    const auto [n_q, n_k, tiles] = GENERATE(table<Index, Index, std::size_t>(
        {{520, 520, 100}, {520, 520, 3}, {300, 600, 1}, {1, 1, 1}, {1, 600, 1}, {513, 2, 0}}));
    const Mask mask = GENERATE(Mask::everything(), Mask::causal(), Mask::causal(-40), Mask::strided(7));
    const MapPointer map =
        stage_map(random_record(n_q, n_k, masked_by(mask)), 1, GENERATE(Stage::weight, Stage::scaled));
    const Pyramid pyramid = finished(Pyramid(map, tiles * one_tile));
    INFO(mask.text() << ", " << n_q << "×" << n_k);
    CHECK(pyramid.progress() == 1);
    CHECK(pyramid.tile_rows(pyramid.coarsest()) == 1);
    CHECK(pyramid.tile_cols(pyramid.coarsest()) == 1);
    CHECK(wrong(pyramid) == 0);
}

TEST_CASE("The finest level kept is the finest that fits", "[unit][maps]") {
    const auto levels = [](Mask mask, std::size_t tiles) {
        const RecordPointer r = record(Tensor({1, 2048, 1}), Tensor({1, 2048, 1}), Tensor({1, 2048, 1}),
                                       masked_by(std::move(mask)));
        const Pyramid p(stage_map(r, 0, Stage::weight), tiles * one_tile);
        return std::pair(p.finest(), p.coarsest());
    };
    using Levels = std::pair<Index, Index>;
    CHECK(levels({}, 64 + 16 + 4 + 1) == Levels(0, 3));
    CHECK(levels({}, 64 + 16 + 4) == Levels(1, 3));
    CHECK(levels({}, 5) == Levels(2, 3));
    CHECK(levels({}, 0) == Levels(3, 3));
    // Tiles above the diagonal of a causal map take no memory.
    CHECK(levels(Mask::causal(), 36 + 10 + 3 + 1) == Levels(0, 3));
    CHECK(levels(Mask::causal(), 36 + 10 + 3) == Levels(1, 3));
}

TEST_CASE("Finer tiles are made one by one", "[unit][maps]") {
    const MapPointer map = stage_map(random_record(700, 700, masked_by(Mask::causal())), 0, Stage::weight);
    const auto cells = cells_of(*map);
    for (const TileAt at : {TileAt{0, 2, 1}, TileAt{0, 2, 2}, TileAt{1, 0, 0}, TileAt{1, 1, 1}}) {
        const Blocks blocks = finished(tile_job(map, at)).blocks();
        const Range rows = tile_cells(700, at.level, at.row), cols = tile_cells(700, at.level, at.col);
        CHECK(blocks.rows == texels(rows.size(), at.level));
        CHECK(blocks.cols == texels(cols.size(), at.level));
        const Index side = Index{1} << at.level;
        std::vector<float> expected;
        for (Index query = rows.begin; query < rows.end; query += side)
            for (Index key = cols.begin; key < cols.end; key += side)
                expected.push_back(
                    brute_force(*map, cells, {query, query + side}, {key, key + side}).strongest);
        CHECK(blocks.strongest == expected);
    }
}

TEST_CASE("The first picture is rows of the map, and says which", "[unit][maps]") {
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{1000, 1000}, {1025, 300}, {3, 700}}));
    const MapPointer map =
        stage_map(random_record(n_q, n_k, masked_by(Mask::causal(n_k - n_q))), 0, Stage::weight);
    Pyramid pyramid(map, one_tile);
    CHECK(!pyramid.sample());
    while (!pyramid.sample()) {
        CHECK(!pyramid.tile({pyramid.finest(), 0, 0}).complete());
        REQUIRE(pyramid.step());
    }
    const SampledRows& sample = *pyramid.sample();
    CHECK(sample.level == pyramid.coarsest());
    CHECK(sample.rows == texels(n_q, sample.level));
    CHECK(sample.cols == texels(n_k, sample.level));
    const auto cells = cells_of(*map);
    const Index side = Index{1} << sample.level;
    std::vector<float> expected;
    for (Index r = 0; r < sample.rows; ++r) {
        const Index query = sample.first + r * sample.step;
        REQUIRE(query / side == r);
        REQUIRE(query < n_q);
        for (Index key = 0; key < n_k; key += side)
            expected.push_back(brute_force(*map, cells, {query, query + 1}, {key, key + side}).strongest);
    }
    CHECK(sample.strongest == expected);
}

TEST_CASE("A map that is one tile has no sample", "[unit][maps]") {
    Pyramid pyramid(stage_map(random_record(256, 256), 0, Stage::weight));
    CHECK(!pyramid.step());
    CHECK(!pyramid.sample());
    CHECK(pyramid.tile({0, 0, 0}).complete());
}

TEST_CASE("Visible parts are made first, and the bits are the same", "[unit][maps]") {
    const MapPointer map = stage_map(random_record(1500, 1500, masked_by(Mask::causal())), 0, Stage::weight);
    Pyramid pyramid(map, 100 * one_tile);
    REQUIRE(pyramid.finest() == 0);
    pyramid.look_at({1400, 1500}, {0, 100});
    while (!pyramid.sample()) pyramid.step();
    pyramid.step();
    CHECK(pyramid.tile({0, 5, 0}).complete());
    CHECK(!pyramid.tile({0, 0, 0}).complete());
    const Tile& above = pyramid.tile({1, 2, 0});
    CHECK(above.square == 128);
    CHECK(!above.complete());
    CHECK(above.ready_at(200, 20));
    CHECK(!above.ready_at(100, 20));
    CHECK(above.version > 0);
    CHECK(same(finished(std::move(pyramid)), finished(Pyramid(map, 100 * one_tile))));
}

TEST_CASE("A pyramid has the same bits with any number of threads", "[unit][maps][threads]") {
    const MapPointer map = stage_map(random_record(900, 800, masked_by(Mask::causal())), 0, Stage::weight);
    const auto with = [&](int count) {
        const Threads threads(count);
        return finished(Pyramid(map, 3 * one_tile));
    };
    CHECK(same(with(1), with(4)));
}

TEST_CASE("A pyramid dropped half-way leaves nothing behind", "[unit][maps]") {
    const RecordPointer r = random_record(1000, 1000);
    {
        Pyramid pyramid(stage_map(r, 0, Stage::weight));
        double before = 0;
        for (int i = 0; i < 3; ++i) {
            REQUIRE(pyramid.step());
            CHECK(pyramid.progress() >= before);
            before = pyramid.progress();
        }
        CHECK(pyramid.progress() < 1);
    }
    CHECK(r.use_count() == 1);
}

TEST_CASE("The sums of a pyramid match the map's", "[unit][maps]") {
    const MapPointer map = stage_map(random_record(700, 600, masked_by(Mask::causal())), 0, Stage::weight);
    const MapSums all = finished(BlockJob(map, whole(*map), 8, 8)).sums(),
                  sums = finished(Pyramid(map, 20 * one_tile)).sums();
    CHECK(sums.not_numbers == 0);
    // The same sums in parts: doubles of f32 sums of at most 256 cells below 1.
    for (std::size_t i = 0; i < 700; ++i) {
        REQUIRE_THAT(sums.queries[i], WithinAbs(1, 1e-5));
        REQUIRE_THAT(sums.entropies[i], WithinAbs(all.entropies[i], 1e-5));
    }
    for (std::size_t j = 0; j < 600; ++j) REQUIRE_THAT(sums.keys[j], WithinAbs(all.keys[j], 1e-4));
}

TEST_CASE("A map that is masked everywhere takes no memory", "[unit][maps]") {
    const Pyramid pyramid =
        finished(Pyramid(stage_map(random_record(600, 600, masked_by(Mask::padding(0))), 0, Stage::weight)));
    CHECK(pyramid.finest() == 0);
    for (const TileAt at : {TileAt{0, 0, 0}, TileAt{1, 1, 1}, TileAt{2, 0, 0}}) {
        CHECK(pyramid.tile(at).complete());
        CHECK(pyramid.tile(at).strongest.empty());
    }
    CHECK(pyramid.sample()->strongest == std::vector<float>(150 * 150, masked_cell));
}

TEST_CASE("A map without queries or keys is done", "[unit][maps]") {
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{0, 5}, {5, 0}, {0, 1000}, {1000, 0}}));
    Pyramid pyramid(stage_map(random_record(n_q, n_k), 0, Stage::weight));
    CHECK(pyramid.done());
    CHECK(!pyramid.step());
    CHECK(pyramid.progress() == 1);
}
