#include "app/map_tiles.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "model/forward.hpp"
#include "support/files.hpp"

using namespace attn;
using app::MapStage;
using app::MapTiles;

namespace {

constexpr float masked = -std::numeric_limits<float>::infinity();

// A model with a window of four keys, over 300 tokens.
std::shared_ptr<const Trace> windowed_run() {
    const auto folder = test::source_dir() / "tests/golden/model/mistral-window-f16";
    const Bytes read = test::read_file(folder / "config.json");
    std::string config(reinterpret_cast<const char*>(read.data()), read.size());
    const std::string context = "\"max_position_embeddings\": 64";
    REQUIRE(config.find(context) != std::string::npos);
    config.replace(config.find(context), context.size(), "\"max_position_embeddings\": 300");
    const auto bytes = test::as_bytes(config);
    ModelFiles files;
    files.config.assign(bytes.begin(), bytes.end());
    files.weights["model.safetensors"] = test::read_file(folder / "model.safetensors");
    const auto model = Model::load(std::move(files));
    REQUIRE(model);
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * 7 % 31);
    const auto trace = run_forward(*model, ids);
    REQUIRE(trace);
    return *trace;
}

// The strongest of a block, by its definition.
float strongest(const Record& record, Index head, MapStage stage, Index row, Index col, Index block) {
    float found = masked;
    const Index n = record.queries();
    for (Index q = row * block; q < std::min((row + 1) * block, n); ++q)
        for (Index k = col * block; k < std::min((col + 1) * block, n); ++k) {
            if (!record.spec().mask.allows(head, q, k)) continue;
            const float cell = record.cell(app::stage_of(stage), head, q, k);
            const bool stronger = stage == MapStage::scaled ? std::abs(cell) > std::abs(found) : cell > found;
            if (found == masked || stronger) found = cell;
        }
    return found;
}

}  // namespace

TEST_CASE("tiles of every level hold the strongest cell of each block") {
    static const auto trace = windowed_run();
    const Index layer = 1, head = 3;
    const Record& record = trace->layers()[layer].attention;
    const auto stage = GENERATE(MapStage::scaled, MapStage::weight, MapStage::contribution);
    const Index level = GENERATE(Index{0}, Index{1}, Index{2}, Index{9});
    MapTiles tiles;
    tiles.show(trace, layer, head, stage);
    const Index values = (299 >> level) + 1, count = (values - 1) / MapTiles::side + 1;
    for (Index row = 0; row < count; ++row)
        for (Index col = 0; col < count; ++col) CHECK(tiles.want(level, row, col) == nullptr);
    int steps = 0;
    while (tiles.step()) REQUIRE(++steps < 1000);

    Index seen = 0, hidden = 0, wrong = 0;
    for (Index row = 0; row < count; ++row)
        for (Index col = 0; col < count; ++col) {
            const MapTiles::Tile* tile = tiles.find(level, row, col);
            REQUIRE(tile);
            REQUIRE(tile == tiles.want(level, row, col));
            for (Index r = 0; r < tile->rows; ++r)
                for (Index c = 0; c < tile->cols; ++c) {
                    const float value = tile->values[static_cast<std::size_t>(r * tile->cols + c)];
                    const float expected = strongest(record, head, stage, row * MapTiles::side + r,
                                                     col * MapTiles::side + c, Index{1} << level);
                    ++seen;
                    hidden += value == masked;
                    wrong += !(value == expected || std::abs(value - expected) < 1e-5f);
                }
        }
    CHECK(seen == values * values);
    CHECK(wrong == 0);
    CHECK((level == 9 || hidden > 0));
}

TEST_CASE("only tiles in view are computed, and another map forgets them") {
    static const auto trace = windowed_run();
    MapTiles tiles;
    tiles.show(trace, 0, 0, MapStage::weight);
    tiles.want(0, 2, 2);
    while (tiles.step()) {
    }
    const MapTiles::Tile* tile = tiles.find(0, 2, 2);
    REQUIRE(tile);
    CHECK(tile->rows == 300 - 2 * MapTiles::side);
    CHECK(tiles.find(0, 0, 0) == nullptr);
    REQUIRE(tiles.cell(299, 299));
    CHECK(*tiles.cell(299, 299) == tile->values.back());
    CHECK(tiles.cell(0, 0) == nullptr);

    const auto serial = tile->serial;
    tiles.show(trace, 0, 0, MapStage::weight);  // the next frame
    REQUIRE(tiles.find(0, 2, 2));
    tiles.show(trace, 0, 1, MapStage::weight);
    CHECK(tiles.find(0, 2, 2) == nullptr);
    CHECK_FALSE(tiles.step());
    tiles.want(0, 2, 2);
    while (tiles.step()) {
    }
    CHECK(tiles.find(0, 2, 2)->serial != serial);
}

TEST_CASE("a tile that went out of view before it was complete is dropped") {
    static const auto trace = windowed_run();
    MapTiles tiles;
    tiles.show(trace, 0, 0, MapStage::weight);
    tiles.want(0, 0, 0);
    tiles.show(trace, 0, 0, MapStage::weight);
    tiles.show(trace, 0, 0, MapStage::weight);
    CHECK_FALSE(tiles.step());
    CHECK(tiles.find(0, 0, 0) == nullptr);
}
