#include "maps/blocks.hpp"

#include "support/threads.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;

namespace {

// A map of given cells that no record produces.
class TableMap final : public Map {
  public:
    TableMap(Index queries, Index keys, bool is_signed, std::vector<float> cells)
        : Map(queries, keys, is_signed), cells_(std::move(cells)) {}

    Coverage coverage(Range, Range) const override { return Coverage::some; }
    void cells(const MapWindow& window, MatrixView<float> out, std::span<double>) const override {
        for (Index r = 0; r < out.rows; ++r)
            for (Index j = 0; j < out.cols; ++j)
                out(r, j) =
                    cells_[static_cast<std::size_t>(window.query(r) * keys() + window.keys.begin + j)];
    }

  private:
    std::vector<float> cells_;
};

// Counts the blocks that are wrong.
int wrong(const Map& map, std::span<const float> cells, const Blocks& blocks, Index side) {
    const std::vector<float> mean = blocks.mean();
    int count = 0;
    for (Index r = 0; r < blocks.rows; ++r)
        for (Index c = 0; c < blocks.cols; ++c) {
            const auto at = static_cast<std::size_t>(r * blocks.cols + c);
            count += !agrees(blocks.strongest[at], mean[at],
                             brute_force(map, cells, {r * side, (r + 1) * side}, {c * side, (c + 1) * side}),
                             side);
        }
    return count;
}

}  // namespace

TEST_CASE("Blocks match brute force", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{150, 150}, {61, 203}, {1, 1}}));
    for (const Mask& mask : all_masks(n_q, n_k)) {
        const RecordPointer r = random_record(n_q, n_k, masked_by(mask), kernels);
        for (const Stage stage : {Stage::masked, Stage::weight}) {
            const MapPointer map = stage_map(r, 1, stage);
            const auto cells = cells_of(*map);
            for (const Index side : {1, 2, 8, 64}) {
                INFO(kernels.name << ", " << info(stage).key << ", side " << side << ", "
                                  << mask.text().substr(0, 60));
                const BlockJob job = finished(BlockJob(map, whole(*map), side, side, kernels));
                CHECK(wrong(*map, cells, job.blocks(), side) == 0);
            }
        }
    }
}

TEST_CASE("Blocks of blocks are larger blocks", "[unit][maps]") {
    const RecordPointer r = random_record(75, 140, masked_by(Mask::causal(65)));
    for (const Stage stage : {Stage::scaled, Stage::contribution}) {
        const MapPointer map = stage_map(r, 0, stage);
        const auto cells = cells_of(*map);
        Blocks blocks = finished(BlockJob(map, whole(*map), 1, 1)).blocks();
        for (const Index side : {2, 4, 8, 16, 32, 64, 128, 256}) {
            blocks = blocks.halved(map->is_signed());
            CHECK(wrong(*map, cells, blocks, side) == 0);
        }
        CHECK(blocks.rows == 1);
        CHECK(blocks.cols == 1);
    }
}

TEST_CASE("Among equal magnitudes the positive one is the strongest, and zero beats masked", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const float m = masked_cell;
    const auto map =
        std::make_shared<TableMap>(2, 12, true, std::vector<float>{-3, 1, 3,  m, m, m, 0, m, -2, 0, m, m,  //
                                                                   2,  0, -3, m, m, m, m, m, 1,  m, m, m});
    const Blocks blocks = finished(BlockJob(map, whole(*map), 2, 3, kernels)).blocks();
    CHECK(blocks.strongest == std::vector<float>{3, m, -2, 0});
    CHECK(blocks.count == std::vector<float>{6, 0, 3, 1});
    CHECK(blocks.sum == std::vector<float>{0, 0, -1, 0});
}

TEST_CASE("NaN shows in its block and is counted", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    std::vector<float> cells(20 * 20, 0.25f);
    cells[0] = cells[1] = cells[399] = not_a_number;
    cells[25] = infinity;  // where both infinities meet there is no NaN cell either
    cells[26] = -2;
    cells[8] = masked_cell;
    const bool is_signed = GENERATE(true, false);
    const auto map = std::make_shared<TableMap>(20, 20, is_signed, cells);
    const BlockJob job = finished(BlockJob(map, whole(*map), 4, 4, kernels));
    CHECK(job.sums().not_numbers == 3);
    CHECK(std::isnan(job.blocks().strongest[0]));
    CHECK(std::isnan(job.blocks().mean()[0]));
    CHECK(job.blocks().strongest[1] == infinity);
    CHECK(job.blocks().strongest[2] == 0.25f);
    CHECK(std::isnan(job.blocks().strongest[24]));
    CHECK(std::isnan(job.blocks().halved(is_signed).strongest[0]));
}

TEST_CASE("NaN in a query is NaN only in its row of weights", "[unit][maps]") {
    Tensor q = random_tensor({1, 300, 4}, 1);
    q.data()[5 * 4] = not_a_number;
    const RecordPointer r =
        record(q, random_tensor({1, 300, 4}, 2), random_tensor({1, 300, 4}, 3), masked_by(Mask::causal()));
    const MapPointer map = stage_map(r, 0, Stage::weight);
    const BlockJob job = finished(BlockJob(map, whole(*map), 4, 4));
    CHECK(job.sums().not_numbers == 6);
    for (std::size_t i = 0; i < job.blocks().strongest.size(); ++i)
        REQUIRE(std::isnan(job.blocks().strongest[i]) == (i == 75 || i == 76));
}

TEST_CASE("Sums of rows and columns, and entropies", "[unit][maps]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const Index n_q = 300, n_k = 320;
    const RecordPointer r = random_record(n_q, n_k, masked_by(Mask::causal(20)), kernels);
    for (const Stage stage : {Stage::weight, Stage::scaled}) {
        const MapPointer map = stage_map(r, 0, stage);
        const auto cells = cells_of(*map);
        const BlockJob job = finished(BlockJob(map, whole(*map), 8, 8, kernels));
        std::vector<double> rows(300), columns(320), entropies(300);
        for (std::size_t i = 0; i < 300; ++i)
            for (std::size_t j = 0; j < 320; ++j) {
                const auto cell = static_cast<double>(cells[i * 320 + j]);
                if (std::isinf(cell)) continue;
                rows[i] += cell;
                columns[j] += cell;
                if (stage == Stage::weight && cell > 0) entropies[i] -= cell * std::log(cell);
            }
        // Sums of at most 320 cells of magnitudes below 10.
        for (std::size_t i = 0; i < 300; ++i) {
            REQUIRE_THAT(job.sums().queries[i], WithinAbs(rows[i], 1e-4));
            REQUIRE_THAT(job.sums().entropies[i], WithinAbs(entropies[i], 1e-5));
        }
        for (std::size_t j = 0; j < 320; ++j) REQUIRE_THAT(job.sums().keys[j], WithinAbs(columns[j], 1e-4));
    }
}

TEST_CASE("The same bits with any number of threads", "[unit][maps][threads]") {
    const RecordPointer r = random_record(600, 700, masked_by(Mask::causal(100)));
    const MapPointer map = stage_map(r, 1, Stage::contribution);
    const auto with = [&](int count) {
        const Threads threads(count);
        return finished(BlockJob(map, whole(*map), 8, 8));
    };
    const BlockJob one = with(1), three = with(3);
    CHECK(one.blocks().strongest == three.blocks().strongest);
    CHECK(one.blocks().sum == three.blocks().sum);
    CHECK(one.sums().keys == three.sums().keys);
    CHECK(one.sums().queries == three.sums().queries);
    CHECK(one.sums().entropies == three.sums().entropies);
}

TEST_CASE("An empty map has no blocks", "[unit][maps]") {
    const auto map = std::make_shared<TableMap>(0, 5, false, std::vector<float>());
    BlockJob job(map, whole(*map), 8, 8);
    CHECK(job.done());
    CHECK(!job.step());
    CHECK(job.progress() == 1);
    CHECK(job.blocks().rows == 0);
}
