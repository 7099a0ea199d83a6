#include "maps/tiles.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "analysis/heads/head_maps.hpp"
#include "support/windowed_run.hpp"

using namespace attn;
using test::windowed_run;

namespace {

// Computes a block's strongest cell and mean by definition.
struct BlockSums {
    float strongest = masked_cell;
    double sum = 0;
    Index count = 0;
};
BlockSums block_of(const Map& map, Index row, Index col, Index side) {
    BlockSums block;
    for (Index q = row * side; q < std::min((row + 1) * side, map.queries()); ++q)
        for (Index k = col * side; k < std::min((col + 1) * side, map.keys()); ++k) {
            const float cell = map.cell(q, k);
            if (cell == masked_cell) continue;
            const bool stronger =
                map.is_signed() ? std::abs(cell) > std::abs(block.strongest) : cell > block.strongest;
            if (block.count == 0 || stronger) block.strongest = cell;
            block.sum += static_cast<double>(cell);
            ++block.count;
        }
    return block;
}

void finish_tiles(MapTiles& tiles) {
    for (int steps = 0; tiles.working(); ++steps) {
        REQUIRE(steps < 10'000);
        tiles.step();
    }
    CHECK(!tiles.step());
}

}  // namespace

TEST_CASE("tiles of every level hold the strongest cell or the mean of each block") {
    static const auto trace = windowed_run();
    const auto stage =
        GENERATE(Stage::raw, Stage::scaled, Stage::weight, Stage::contribution, Stage::projected);
    const auto pooling = GENERATE(Pooling::strongest, Pooling::mean);
    const MapPointer map = map_of(trace, 1, 3, stage, Sink::shown);
    MapTiles tiles;
    tiles.show(map, pooling);
    tiles.look_at(0, {0, 300}, {0, 300});
    finish_tiles(tiles);
    REQUIRE(tiles.coarsest() >= 1);
    for (Index level = 0; level <= tiles.coarsest(); ++level) {
        const Index texels = attn::texels(300, level), count = (texels - 1) / tile_side + 1;
        Index wrong = 0, seen = 0;
        for (Index row = 0; row < count; ++row)
            for (Index col = 0; col < count; ++col) {
                const MapTiles::Texels* tile = tiles.find({level, row, col});
                REQUIRE(tile);
                REQUIRE(tile->complete);
                for (Index r = 0; r < tile->rows; ++r)
                    for (Index c = 0; c < tile->cols; ++c, ++seen) {
                        const float value = tile->values[static_cast<std::size_t>(r * tile->cols + c)];
                        const BlockSums block =
                            block_of(*map, row * tile_side + r, col * tile_side + c, Index{1} << level);
                        if (pooling == Pooling::strongest || block.count == 0) {
                            wrong += value != block.strongest;
                        } else {
                            const double mean = block.sum / static_cast<double>(block.count);
                            wrong +=
                                !(std::abs(static_cast<double>(value) - mean) <= 1e-5 * (1 + std::abs(mean)));
                        }
                    }
            }
        INFO("level " << level);
        CHECK(seen == texels * texels);
        CHECK(wrong == 0);
    }
    CHECK(tiles.cell(7, 5) == map->cell(7, 5));
    CHECK(tiles.progress() == 1);
}

TEST_CASE("sampled rows are shown in a first picture until the blocks are there") {
    static const auto trace = windowed_run();
    const MapPointer map = map_of(trace, 1, 3, Stage::weight, Sink::shown);
    MapTiles tiles;
    tiles.show(map, Pooling::strongest, true);
    finish_tiles(tiles);  // only the sample is there while the map is measured
    const SampledRows* sample = tiles.sample();
    REQUIRE(sample);
    CHECK_FALSE(tiles.pyramid()->done());
    const TileAt all{tiles.coarsest(), 0, 0};
    const MapTiles::Texels* texels = tiles.find(all);
    REQUIRE(texels);
    CHECK_FALSE(texels->complete);
    for (Index row = 0; row < texels->rows; ++row)
        for (Index col = 0; col < texels->cols; ++col) {
            const auto side = Index{1} << sample->level;
            float strongest = masked_cell;
            for (Index k = col * side; k < std::min((col + 1) * side, map->keys()); ++k)
                strongest = std::max(strongest, map->cell(sample->first + row * sample->step, k));
            REQUIRE(texels->values[static_cast<std::size_t>(row * texels->cols + col)] == strongest);
        }
    CHECK(tiles.extent() == *std::ranges::max_element(sample->strongest));
    const auto first = texels->serial;

    tiles.show(map, Pooling::strongest);
    finish_tiles(tiles);
    CHECK_FALSE(tiles.sample());
    REQUIRE(tiles.find(all));
    CHECK(tiles.find(all)->complete);
    CHECK(tiles.find(all)->serial != first);
    const auto last = tiles.find(all)->serial;
    tiles = MapTiles();
    tiles.show(map_of(trace, 0, 1, Stage::weight, Sink::shown), Pooling::strongest);
    finish_tiles(tiles);
    CHECK(tiles.find({tiles.coarsest(), 0, 0})->serial > last);
}

TEST_CASE("below the pyramid only visible tiles are computed, and kept while there is room") {
    // The weights are uniform: every cell of row q is 1 / (q + 1).
    constexpr Index n = 9000;
    const Tensor q({1, n, 1}), k({1, n, 1}), v({1, n, 1});
    AttentionSpec spec;
    spec.mask = Mask::causal();
    auto record = Record::run(q, k, v, spec);
    REQUIRE(record);
    const MapPointer map = stage_map(std::make_shared<const Record>(*std::move(record)), 0, Stage::weight);
    MapTiles tiles;
    tiles.show(map, Pooling::strongest);
    REQUIRE(tiles.pyramid()->finest() > 0);
    const TileAt here{0, 20, 3}, there{0, 30, 3};
    CHECK(tiles.find(here) == nullptr);
    const auto look = [&](TileAt at) {
        tiles.show(map, Pooling::strongest);
        tiles.look_at(0, tile_cells(n, 0, at.row), tile_cells(n, 0, at.col));
    };
    look(here);
    for (int steps = 0; !tiles.find(here); ++steps) {
        REQUIRE(steps < 100);
        tiles.step();
    }
    CHECK(tiles.cell(20 * tile_side + 5, 3 * tile_side + 7) ==
          map->cell(20 * tile_side + 5, 3 * tile_side + 7));
    CHECK(tiles.find(there) == nullptr);
    // A job that is no longer needed is dropped; a finished tile stays.
    look(there);
    look(here);
    CHECK(tiles.find(there) == nullptr);
    CHECK(tiles.find(here) != nullptr);
    for (Index col = 0; col < static_cast<Index>(MapTiles::kept) + 8; ++col) {
        const TileAt other{0, 33 - col / 30, col % 30};
        look(other);
        for (int steps = 0; !tiles.find(other) && steps < 100; ++steps) tiles.step();
    }
    look({0, 1, 1});
    CHECK(tiles.find(here) == nullptr);  // the least recently viewed
}

TEST_CASE("ranks and sums cover the whole map, once it is there") {
    static const auto trace = windowed_run();
    const MapPointer map = map_of(trace, 1, 0, Stage::contribution, Sink::shown);
    MapTiles tiles;
    for (const Pooling pooling : {Pooling::strongest, Pooling::mean}) {
        tiles.show(map, pooling);
        if (pooling == Pooling::strongest) CHECK(tiles.quantiles() == nullptr);
        while (tiles.step()) {
        }
        REQUIRE(tiles.quantiles());
        REQUIRE(tiles.sums());
        std::vector<float> blocks;  // blocks are 2 × 2 cells, because 300 tokens exceed a tile
        for (Index row = 0; row < 150; ++row)
            for (Index col = 0; col < 150; ++col) {
                const BlockSums block = block_of(*map, row, col, 2);
                if (block.count == 0) continue;
                blocks.push_back(pooling == Pooling::mean
                                     ? static_cast<float>(block.sum / static_cast<double>(block.count))
                                     : block.strongest);
            }
        const Quantiles expected = quantiles_of(blocks, 1);
        for (std::size_t i = 0; i < expected.values.size();
             ++i)  // the last bits of a mean depend on the order of summation
            CHECK(std::abs(tiles.quantiles()->values[i] - expected.values[i]) <=
                  1e-6f * std::abs(expected.values[i]));
    }
    double of_key = 0;
    for (Index query = 0; query < 300; ++query)
        if (const float cell = map->cell(query, 7); cell != masked_cell) of_key += static_cast<double>(cell);
    CHECK(std::abs(tiles.sums()->keys[7] - of_key) <= 1e-6 * of_key);
}

TEST_CASE("without the sink the first key is masked, and the rest may sum to one again") {
    static const auto trace = windowed_run();
    const auto cell = [&](Sink sink, Stage stage, Index query, Index key) {
        return map_of(trace, 0, 1, stage, sink)->cell(query, key);
    };
    for (const Stage stage : {Stage::weight, Stage::contribution, Stage::projected}) {
        CHECK(cell(Sink::hidden, stage, 2, 0) == masked_cell);
        CHECK(cell(Sink::hidden, stage, 2, 1) == cell(Sink::shown, stage, 2, 1));
        CHECK(cell(Sink::renormalised, stage, 2, 1) ==
              cell(Sink::shown, stage, 2, 1) / (1 - cell(Sink::shown, Stage::weight, 2, 0)));
    }
    CHECK(cell(Sink::renormalised, Stage::scaled, 2, 0) == cell(Sink::shown, Stage::scaled, 2, 0));
}

TEST_CASE("a tile of the pyramid shows what is known so far") {
    static const auto trace = windowed_run();
    const MapPointer map = map_of(trace, 0, 0, Stage::weight, Sink::shown);
    MapTiles whole;
    whole.show(map, Pooling::strongest);
    finish_tiles(whole);
    const TileAt all{whole.coarsest(), 0, 0};
    const std::vector<float> blocks = whole.find(all)->values;

    MapTiles tiles;
    tiles.show(map, Pooling::strongest);
    bool partly = false;
    for (int steps = 0; tiles.step(); ++steps) {
        REQUIRE(steps < 10'000);
        const SampledRows* sample = tiles.sample();
        if (!sample) continue;
        const std::vector<float>& values = tiles.find(all)->values;
        Index made = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            REQUIRE((values[i] == blocks[i] || values[i] == sample->strongest[i]));
            made += values[i] == blocks[i] && values[i] != sample->strongest[i];
        }
        partly |= made > 0;
    }
    CHECK(partly);
    CHECK(tiles.find(all)->values == blocks);
    CHECK(std::ranges::count(blocks, unknown_texel) == 0);
    CHECK(tiles.extent() > 0.99f);  // the first token attends only to itself
}
