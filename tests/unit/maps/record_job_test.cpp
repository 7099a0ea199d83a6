#include "maps/record_job.hpp"

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
