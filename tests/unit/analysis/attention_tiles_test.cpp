// Compares skipped tiles and costs with a count of all cells, and with the header's formulas written out.
#include "analysis/theory/attention_tiles.hpp"

#include <catch_amalgamated.hpp>
#include <map>

#include "analysis/theory/tile_blocks.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;

namespace {

std::shared_ptr<const Record> record_of(Index queries, Index keys, Index d_k, Index d_v, Mask mask) {
    AttentionSpec spec;
    spec.mask = std::move(mask);
    auto record =
        Record::prepare(Tensor({1, queries, d_k}), Tensor({1, keys, d_k}), Tensor({1, keys, d_v}), spec);
    REQUIRE(record);
    return std::make_shared<const Record>(*std::move(record));
}

TileCover covered(const std::shared_ptr<const Record>& record, const TileGrid& grid) {
    TileCover cover(record, 0, grid);
    while (cover.step()) continue;
    return cover;
}

std::vector<Mask> masks() {
    PaintedBits bits{1, 10, 14, std::vector<std::uint8_t>(140)};
    for (std::size_t i = 0; i < bits.allowed.size(); ++i) bits.allowed[i] = i % 14 < 3 && i < 90;
    return {Mask::everything(), Mask::causal(),   Mask::causal(-3),    Mask::causal(4),
            Mask::window(2, 0), Mask::strided(3), Mask::painted(bits), Mask::causal() & Mask::window(4, 4)};
}

}  // namespace

TEST_CASE("a tile is skipped exactly if the mask hides all of its cells") {
    for (const Mask& mask : masks())
        for (const TileSize size : {TileSize{1, 1}, {2, 2}, {3, 5}, {48, 64}}) {
            INFO(mask.text() << ", " << size.queries << " × " << size.keys);
            const auto record = record_of(10, 14, 3, 2, mask);
            const TileGrid grid{10, 14, size};
            const TileCover cover = covered(record, grid);
            Index skipped = 0, keys = 0, cells = 0;
            for (Index tile = 0; tile < grid.count(); ++tile) {
                const Range q = grid.queries_of(grid.row(tile)), k = grid.keys_of(grid.col(tile));
                bool sees = false;
                for (Index i = q.begin; i < q.end; ++i)
                    for (Index j = k.begin; j < k.end; ++j) sees = sees || mask.allows(0, i, j);
                CHECK(cover.skipped(tile) == !sees);
                skipped += !sees;
                keys += sees ? k.size() : 0;
                cells += sees ? k.size() * q.size() : 0;
                if (tile > 0) CHECK(cover.neighbour(tile, -1) <= tile);
            }
            CHECK(cover.skipped_tiles() == skipped);
            const TileCost cost = cover.cost(grid.count());
            CHECK(cost.read == static_cast<double>(4 * (10 * 3 + keys * 5)));
            CHECK(cost.written == static_cast<double>(4 * 10 * 2));
            CHECK(cost.products == static_cast<double>(cells * 5));
        }
}

TEST_CASE("costs grow with the finished tiles, and naive attention's costs are written out") {
    const auto record = record_of(10, 14, 3, 2, Mask::causal());
    const TileCover cover = covered(record, {10, 14, {4, 4}});
    CHECK(cover.cost(0).moved() == 0);
    // The first tile: 4 queries, 4 keys, 4 values.
    CHECK(cover.cost(1).read == 4 * (4 * 3 + 4 * 3 + 4 * 2));
    CHECK(cover.cost(1).written == 0);
    CHECK(cover.cost(1).products == 4 * 4 * 5);
    // The rest of the row is skipped; then its output is written.
    CHECK(cover.cost(4).read == cover.cost(1).read);
    CHECK(cover.cost(4).written == 4 * (4 * 2));
    for (Index tile = 0; tile < 12; ++tile) CHECK(cover.cost(tile + 1).moved() >= cover.cost(tile).moved());
    const TileCost naive = naive_cost(*record);
    CHECK(naive.read == 4 * (10 * 3 + 14 * 3 + 140 + 140 + 14 * 2));
    CHECK(naive.written == 4 * (140 + 140 + 10 * 2));
    CHECK(naive.products == 140 * 5);
    CHECK(fast_memory(*record, {4, 6}) == 4 * (4 * 3 + 4 * 2 + 4 * 2 + 6 * 3 + 6 * 2 + 4 * 6));
}

TEST_CASE("stepping from tile to tile skips the skipped ones") {
    const TileCover cover = covered(record_of(6, 6, 1, 1, Mask::causal()), {6, 6, {2, 2}});
    CHECK(cover.neighbour(0, 1) == 3);
    CHECK(cover.neighbour(3, 1) == 4);
    CHECK(cover.neighbour(4, 1) == 6);
    CHECK(cover.neighbour(8, 1) == 8);
    CHECK(cover.neighbour(3, -1) == 0);
    CHECK(cover.neighbour(0, -1) == 0);
    CHECK(cover.neighbour(1, 1) == 3);
}

TEST_CASE("a long text gets larger tiles, and finding the skipped ones works in slices") {
    const TileGrid grid = tile_grid(16384, 16384, {2, 2}, 100'000);
    CHECK(grid.count() <= 100'000);
    CHECK(grid.size == TileSize{64, 64});
    CHECK(tile_grid(16384, 16384, {48, 64}, 100'000).size == TileSize{48, 64});
    CHECK(tile_grid(3, 3, {2, 2}, 100'000).size == TileSize{2, 2});
    CHECK(tile_grid(1'000'000, 1'000'000, {1, 1}, 100'000).count() <= 100'000);
    const auto record = record_of(16384, 16384, 1, 1, Mask::causal());
    TileCover cover(record, 0, tile_grid(16384, 16384, {48, 64}, 100'000));
    Index steps = 1;
    while (cover.step()) ++steps;
    CHECK(steps > 1);
    // A tile is above the diagonal if its first key comes after its last query.
    Index skipped = 0;
    for (Index row = 0; row < cover.grid().rows(); ++row)
        for (Index col = 0; col < cover.grid().cols(); ++col)
            skipped += cover.grid().keys_of(col).begin > cover.grid().queries_of(row).end - 1;
    CHECK(cover.skipped_tiles() == skipped);
}

TEST_CASE("tiles of the usual size move fewer bytes than naive attention, whatever the head") {
    for (const Index n : {1, 2, 3, 8, 14, 15, 64, 300, 2000})
        for (const Index d : {1, 4, 20, 64, 128}) {
            CAPTURE(n, d);
            const auto record = record_of(n, n, d, d, Mask::everything());
            const TileSize size = usual_tile_size(*record, 128);
            CHECK(size.queries <= 128);
            const TileCover cover = covered(record, tile_grid(n, n, size, 100'000));
            CHECK(cover.cost(cover.grid().count()).moved() < naive_cost(*record).moved());
        }
}

TEST_CASE("the blocks of a picture have every tile once, and a block is skipped if all of its tiles are") {
    for (const Mask& mask : masks())
        for (const Index most : {1, 3, 4, 100}) {
            INFO(mask.text() << ", " << most);
            const TileCover cover = covered(record_of(10, 14, 3, 2, mask), {10, 14, {2, 2}});
            const TileGrid& grid = cover.grid();
            const Index now = 17;  // the grid has 5 × 7 tiles
            const TileBlocks blocks(cover, now, most);
            CHECK(blocks.of_tiles() == (most == 100));
            std::map<Index, TileFate> fates;
            for (Index row = 0; row < blocks.rows(); ++row)
                for (Index col = 0; col < blocks.cols(); ++col) {
                    const Range rows = blocks.tile_rows(row), cols = blocks.tile_cols(col);
                    CHECK(blocks.first_tile(row, col) == rows.begin * grid.cols() + cols.begin);
                    bool skipped = true;
                    for (Index r = rows.begin; r < rows.end; ++r)
                        for (Index c = cols.begin; c < cols.end; ++c) {
                            const Index tile = r * grid.cols() + c;
                            CHECK(fates.emplace(tile, blocks.fate(row, col)).second);
                            skipped = skipped && cover.skipped(tile);
                        }
                    CHECK(blocks.skipped(row, col) == skipped);
                }
            CHECK(std::ssize(fates) == grid.count());
            CHECK(fates[now] == TileFate::now);
            CHECK(blocks.fate(blocks.now().first, blocks.now().second) == TileFate::now);
            if (most < 100) continue;
            for (const auto& [tile, fate] : fates)
                if (tile != now)
                    CHECK(fate == (cover.skipped(tile) ? TileFate::skipped
                                   : tile < now        ? TileFate::done
                                                       : TileFate::ahead));
        }
}
