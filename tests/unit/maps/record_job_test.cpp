#include "maps/record_job.hpp"

#include <bit>
#include <limits>

#include "maps/tiles.hpp"
#include "support/threads.hpp"
#include "unit/maps/support.hpp"

using namespace attn;
using namespace attn::test;

namespace {

Record prepared(Index n_q, Index n_k) {
    auto record = Record::prepare(random_tensor({2, n_q, 8}, 1), random_tensor({1, n_k, 8}, 2),
                                  random_tensor({1, n_k, 6}, 3), masked_by(Mask::causal(n_k - n_q)));
    REQUIRE(record);
    return *std::move(record);
}

struct Inputs {
    Tensor q, k, v;
    AttentionSpec spec{};
    const Kernels* kernels = &default_kernels();

    Record prepared() const {
        auto record = Record::prepare(q, k, v, spec, *kernels);
        REQUIRE(record);
        return *std::move(record);
    }
};

Inputs one_head(Index n_q, Index n_k, Mask mask = {}) {
    return {random_tensor({1, n_q, 8}, 1), random_tensor({1, n_k, 8}, 2), Tensor({1, n_k, 0}),
            masked_by(std::move(mask))};
}

// Also where they are NaN.
template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::ranges::equal(a, b,
                              [](T x, T y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); });
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return same_bits(std::span(a), std::span(b));
}

void check_same(const Record& actual, const Record& expected) {
    CHECK(same_bits(actual.row_max().values(), expected.row_max().values()));
    CHECK(same_bits(actual.row_log_sum().values(), expected.row_log_sum().values()));
}

void check_same(const Pyramid& actual, const Pyramid& expected) {
    REQUIRE(actual.finest() == expected.finest());
    REQUIRE(actual.coarsest() == expected.coarsest());
    int wrong = 0;
    for (Index l = actual.finest(); l <= actual.coarsest(); ++l)
        for (Index row = 0; row < actual.tile_rows(l); ++row)
            for (Index col = 0; col < actual.tile_cols(l); ++col) {
                const Tile &x = actual.tile({l, row, col}), &y = expected.tile({l, row, col});
                wrong += !x.complete() || !same_bits(x.strongest, y.strongest) || !same_bits(x.mean, y.mean);
            }
    CHECK(wrong == 0);
    const MapSums x = actual.sums(), y = expected.sums();
    CHECK(x.not_numbers == y.not_numbers);
    CHECK(same_bits(x.queries, y.queries));
    CHECK(same_bits(x.entropies, y.entropies));
    // Doubles of at most as many terms as there are queries, in another order.
    int different = 0;
    for (std::size_t j = 0; j < y.keys.size(); ++j)
        different += !(std::abs(x.keys[j] - y.keys[j]) <= 1e-12 * std::abs(y.keys[j])) &&
                     !(std::isnan(x.keys[j]) && std::isnan(y.keys[j]));
    CHECK(different == 0);
}

constexpr std::size_t tile_bytes = 2 * sizeof(float) * 256 * 256;

std::shared_ptr<Pyramid> pyramid_of(const RecordJob& job, Stage stage = Stage::weight,
                                    std::size_t tiles = 6) {
    return std::make_shared<Pyramid>(stage_map(job.record(), 0, stage), tiles * tile_bytes);
}

void finish(Pyramid& pyramid) {
    while (pyramid.step()) {
    }
    REQUIRE(pyramid.done());
}

// Makes a record and the tiles of a map together, of one level and of several, and compares them with those
// made one after the other.
void check_together(const Inputs& inputs, Stage stage = Stage::weight) {
    for (const std::size_t tiles : {std::size_t{0}, std::size_t{6}}) {
        RecordJob job(inputs.prepared());
        const auto pyramid = pyramid_of(job, stage, tiles);
        if (pyramid->finest() == 0) continue;  // so little is not masked that every cell is kept
        job.give_scores(pyramid);
        REQUIRE(finished(std::move(job)).progress() == 1);
        CHECK(pyramid->progress() == 1);  // only sampled rows are left
        finish(*pyramid);

        const RecordJob apart = finished(RecordJob(inputs.prepared()));
        const auto expected = pyramid_of(apart, stage, tiles);
        finish(*expected);
        check_same(*pyramid->map().scored_record(), *apart.record());
        check_same(*pyramid, *expected);
    }
}

}  // namespace

TEST_CASE("A record measured in slices has the row numbers of one computed at once", "[unit][maps]") {
    const auto [n_q, n_k] = GENERATE(table<Index, Index>({{700, 700}, {1025, 40}, {3, 900}, {1, 1}, {0, 4}}));
    const RecordJob job = finished(RecordJob(prepared(n_q, n_k)));
    const RecordPointer expected = random_record(n_q, n_k, masked_by(Mask::causal(n_k - n_q)));
    CHECK(job.progress() == 1);
    CHECK(job.record()->row_max() == expected->row_max());
    CHECK(job.record()->row_log_sum() == expected->row_log_sum());
    // Without queries there is nothing to do, and nothing is allocated.
    if (n_q > 0) CHECK(job.record()->output() == expected->output());
}

TEST_CASE("The output of a large record is left out", "[unit][maps]") {
    auto record = Record::prepare(random_tensor({1, 4096, 2}, 1), random_tensor({1, 4096, 2}, 2),
                                  random_tensor({1, 4096, 8}, 3), masked_by(Mask::causal(0)));
    REQUIRE(record);
    const RecordJob job = finished(RecordJob(*std::move(record)));
    CHECK(job.record()->output().dim(2) == 0);
}

TEST_CASE("Of many heads, some are measured at a time", "[unit][maps]") {
    const auto many = [] {
        auto record = Record::prepare(random_tensor({12, 600, 8}, 1), random_tensor({6, 600, 8}, 2),
                                      random_tensor({6, 600, 0}, 3), masked_by(Mask::causal(0)));
        REQUIRE(record);
        return *std::move(record);
    };
    RecordJob job(many());
    double before = 0;
    int steps = 0;
    for (; job.step(); ++steps) {
        CHECK(job.progress() >= before);
        before = job.progress();
    }
    CHECK(steps > 6);
    Record whole = many();
    whole.measure({0, 600});
    CHECK(job.record()->row_max() == whole.row_max());
    CHECK(job.record()->row_log_sum() == whole.row_log_sum());
}

TEST_CASE("The rows that small pictures sample are measured first", "[unit][maps]") {
    RecordJob job(prepared(2100, 2100));
    const RecordPointer expected = random_record(2100, 2100, masked_by(Mask::causal(0)));
    for (const Index side : {Index{64}, tile_side}) {
        while (!job.sampled(side)) REQUIRE(job.step());
        const MapWindow window = sample_window(2100, 2100, side);
        CHECK(window.query(window.rows() - 1) == 2099);
        for (Index head = 0; head < 2; ++head)
            for (Index row = 0; row < window.rows(); ++row)
                REQUIRE(job.record()->row_log_sum().matrix()(head, window.query(row)) ==
                        expected->row_log_sum().matrix()(head, window.query(row)));
        CHECK(job.progress() == 0);
    }
    CHECK_FALSE(job.sampled(2100));
}

TEST_CASE("The first picture of an incomplete record equals the complete one's", "[unit][maps]") {
    RecordJob job(prepared(2100, 2100));
    while (!job.sampled(tile_side)) REQUIRE(job.step());
    CHECK(job.progress() == 0);
    Pyramid early(stage_map(job.record(), 1, Stage::weight));
    while (!early.sample()) early.step();
    while (job.step()) {
    }
    Pyramid late(stage_map(job.record(), 1, Stage::weight));
    while (!late.sample()) late.step();
    CHECK(early.sample()->strongest == late.sample()->strongest);
    CHECK(early.sample()->mean == late.sample()->mean);
}

TEST_CASE("A record and the tiles of its weights made together have the bits of each made by itself",
          "[unit][maps][threads]") {
    const Threads threads(GENERATE(1, 2));
    const auto [n_q, n_k] =
        GENERATE(table<Index, Index>({{1100, 1100}, {517, 1300}, {1300, 517}, {1, 3000}, {3000, 1}}));
    for (const Mask& mask : all_masks(n_q, n_k)) {
        INFO(mask.text().substr(0, 60) << ", " << n_q << "×" << n_k);
        check_together(one_head(n_q, n_k, mask));
    }
}

TEST_CASE("Scores given to a pyramid have their soft cap and bias", "[unit][maps]") {
    Inputs inputs = one_head(1100, 1100, Mask::causal());
    inputs.kernels = GENERATE(from_range(fast_kernels()));
    SECTION("soft cap") { inputs.spec.softcap = 0.5; }
    SECTION("scale") { inputs.spec.scale = 9; }
    const auto bias = [&](Shape shape) {
        auto values = std::make_shared<Tensor>(random_tensor(std::move(shape), 4));
        values->data()[7] = masked_cell;
        inputs.spec.bias.values = std::move(values);
    };
    SECTION("bias of a key") { bias({1, 1, 1100}); }
    SECTION("bias of a query") { bias({1, 1100, 1}); }
    SECTION("bias of each cell") { bias({1, 1100, 1100}); }
    SECTION("bias of a distance") {
        bias({1, 1, 2200});
        inputs.spec.bias.zero = 1099;
    }
    SECTION("wide heads") {
        inputs.q = random_tensor({1, 1100, 300}, 1);
        inputs.k = random_tensor({1, 1100, 300}, 2);
    }
    SECTION("none of them") {}
    check_together(inputs);
}

TEST_CASE("Scores given to a pyramid may be NaN or infinite", "[unit][maps]") {
    Inputs inputs = one_head(1100, 1100, GENERATE(Mask::everything(), Mask::causal()));
    inputs.q.data()[5 * 8] = std::numeric_limits<float>::quiet_NaN();
    inputs.k.data()[900 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
    inputs.k.data()[300 * 8] = std::numeric_limits<float>::infinity();
    inputs.q.data()[600 * 8 + 1] = -std::numeric_limits<float>::infinity();
    check_together(inputs);
}

TEST_CASE("Contributions are made of given scores, too", "[unit][maps]") {
    Inputs inputs = one_head(1100, 1100, Mask::causal());
    inputs.v = random_tensor({1, 1100, 64}, 3);
    check_together(inputs, Stage::contribution);
}

TEST_CASE("A pyramid that cannot take scores is left alone", "[unit][maps]") {
    Inputs inputs = one_head(1100, 1100, Mask::causal());
    Stage stage = Stage::weight;
    std::size_t tiles = 6;
    SECTION("exponentials in another precision") {
        inputs.spec.softmax_precision = GENERATE(SoftmaxPrecision::f64, SoftmaxPrecision::bf16);
    }
    SECTION("changed scores") {
        const CellEdit edit{CellEdit::Of::score, {.head = 0, .rows = {3}, .operation = Operation::mean}, {}};
        inputs.spec.edits = std::make_shared<const CellEdits>(CellEdits{edit});
    }
    SECTION("scores") { stage = Stage::scaled; }
    SECTION("several heads") { inputs.q = random_tensor({2, 1100, 8}, 1); }
    SECTION("every cell kept") { tiles = 100; }
    RecordJob job(inputs.prepared());
    const auto pyramid = std::make_shared<Pyramid>(stage_map(job.record(), 0, stage), tiles * tile_bytes);
    job.give_scores(pyramid);
    const RecordJob apart = finished(RecordJob(inputs.prepared()));
    check_same(*finished(std::move(job)).record(), *apart.record());
    CHECK(pyramid->progress() == 0);
    Pyramid expected(stage_map(apart.record(), 0, stage), tiles * tile_bytes);
    finish(*pyramid);
    finish(expected);
    check_same(*pyramid, expected);
}

TEST_CASE("A pyramid may come late, go early, and make place for another", "[unit][maps]") {
    const Inputs inputs = one_head(2100, 2100, GENERATE(Mask::everything(), Mask::causal()));
    const RecordJob apart = finished(RecordJob(inputs.prepared()));
    const auto expected = pyramid_of(apart);
    finish(*expected);
    RecordJob job(inputs.prepared());
    const auto run_to = [&](double progress) {
        while (job.progress() < progress) REQUIRE(job.step());
    };
    auto pyramid = pyramid_of(job);
    SECTION("late") {
        run_to(0.7);
        job.give_scores(pyramid);
    }
    SECTION("early") {
        job.give_scores(pyramid);
        run_to(0.4);
        for (int i = 0; i < 3; ++i) job.step();
        const std::weak_ptr<Pyramid> gone = pyramid;
        pyramid = pyramid_of(job);
        CHECK(gone.expired());
    }
    SECTION("another") {
        job.give_scores(pyramid);
        run_to(0.4);
        job.give_scores(pyramid_of(job));
        run_to(0.5);
        job.give_scores(pyramid);
        job.step();
        job.give_scores(nullptr);
        run_to(0.6);
        job.give_scores(pyramid);
    }
    SECTION("sampled on the way") {
        while (!job.sampled(tile_side)) job.step();
        job.give_scores(pyramid);
        while (!pyramid->sample()) {
            pyramid->step();
            job.step();
        }
    }
    while (job.step()) {
    }
    CHECK(job.progress() == 1);
    check_same(*job.record(), *apart.record());
    finish(*pyramid);
    check_same(*pyramid, *expected);
    CHECK(pyramid->sample()->strongest == expected->sample()->strongest);
}

TEST_CASE("Tiles made while a map is measured are shown", "[unit][maps]") {
    // Too large for all of its cells to be kept, and with weights that are quickly computed.
    Inputs inputs = one_head(4200, 4200, Mask::window(300, 0));
    RecordJob job(inputs.prepared());
    while (!job.sampled(tile_side)) job.step();
    const MapPointer map = stage_map(job.record(), 0, Stage::weight);
    MapTiles tiles;
    const TileAt all{5, 0, 0};
    tiles.show(map, Pooling::strongest, true);
    job.give_scores(tiles.pyramid());
    REQUIRE(tiles.coarsest() == all.level);
    while (tiles.working()) tiles.step();
    std::uint64_t serial = tiles.find(all)->serial;
    int pictures = 0;
    while (job.step()) {
        tiles.show(map, Pooling::strongest, true);
        CHECK_FALSE(tiles.working());
        const std::uint64_t now = tiles.find(all)->serial;
        pictures += now != serial;
        serial = now;
    }
    CHECK((tiles.pyramid()->finest() == 0 || pictures > 1));
    tiles.show(map, Pooling::strongest);
    while (tiles.working()) tiles.step();
    CHECK(tiles.find(all)->complete);
    CHECK(tiles.sums());
    CHECK(tiles.extent() > 0);
    CHECK_FALSE(tiles.sample());
}
