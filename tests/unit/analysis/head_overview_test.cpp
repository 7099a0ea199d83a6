#include "analysis/heads/head_overview.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "analysis/heads/head_maps.hpp"
#include "support/windowed_run.hpp"

using namespace attn;
using namespace attn::test;

namespace {

HeadOverview started(const std::shared_ptr<const Trace>& trace) {
    auto heads = HeadOverview::start(trace);
    REQUIRE(heads);
    return *std::move(heads);
}

HeadOverview finished(const std::shared_ptr<const Trace>& trace) {
    HeadOverview heads = started(trace);
    while (heads.step_maps()) {
    }
    while (heads.step_scores()) {
    }
    return heads;
}

}  // namespace

TEST_CASE("every head gets its picture and its numbers") {
    const auto trace = windowed_run();
    const HeadOverview heads = finished(trace);
    CHECK(heads.done());
    CHECK(heads.progress() == 1);
    CHECK(heads.scored() == heads.layers() * heads.heads());
    const Index side = Index{1} << heads.maps().level(), rows = heads.maps().rows(),
                cols = heads.maps().cols();
    CHECK(rows == (300 + side - 1) / side);
    for (Index layer = 0; layer < heads.layers(); ++layer)
        for (Index head = 0; head < heads.heads(); ++head) {
            INFO("layer " << layer << ", head " << head);
            const Record& record = trace->layers()[static_cast<std::size_t>(layer)].attention;
            HeadScoring scoring(stage_map(record_of(trace, layer), head, Stage::weight), trace->ids());
            while (scoring.step()) {
            }
            const auto scores = heads.scores({layer, head});
            REQUIRE(scores);
            CHECK(scores->induction == scoring.scores().induction);
            CHECK(scores->entropy == scoring.scores().entropy);

            // A texel is the largest weight of its block; the weights of a map and of a row may differ by
            // rounding.
            std::vector<float> most(static_cast<std::size_t>(rows * cols), masked_cell);
            for (Index q = 0; q < 300; ++q) {
                const auto weights = record.weights(head, q);
                for (Index k = 0; k < 300; ++k)
                    if (record.spec().mask.allows(head, q, k)) {
                        float& texel = most[static_cast<std::size_t>(q / side * cols + k / side)];
                        texel = std::max(texel, weights[static_cast<std::size_t>(k)]);
                    }
            }
            const Index at = heads.number({layer, head});
            const float* texels = heads.texels(at / heads.columns());
            Index wrong = 0;
            for (Index r = 0; r < rows; ++r)
                for (Index c = 0; c < cols; ++c) {
                    const float texel = texels[r * heads.columns() * cols + at % heads.columns() * cols + c];
                    const float expected = most[static_cast<std::size_t>(r * cols + c)];
                    wrong += !(texel == expected || std::abs(texel - expected) < 1e-6f);
                }
            CHECK(wrong == 0);
        }
}

TEST_CASE("every head gets a first picture, then the viewed one its numbers, then all their exact pictures") {
    HeadOverview heads = started(windowed_run());
    const Index count = heads.layers() * heads.heads();
    heads.look_at({1, 1});
    while (heads.maps().sampled() < static_cast<std::size_t>(count)) REQUIRE(heads.step_maps());
    CHECK(heads.scored() == 0);
    const std::uint64_t version = heads.version(0);
    while (heads.maps().exact() == 0) REQUIRE(heads.step_maps());
    CHECK(heads.maps().state(static_cast<std::size_t>(heads.number({1, 1}))) == Thumbnails::State::exact);
    CHECK(heads.scored() == 1);
    CHECK(heads.scores({1, 1}));
    CHECK(heads.version(0) + heads.version(1) > version);
    while (heads.step_maps()) {
    }
    CHECK(heads.has_maps());
    CHECK(heads.scored() == 1);
    CHECK(strongest_first(heads, HeadScore::entropy).front() == HeadIndex{1, 1});

    // Another head is chosen while the scores of the others are computed.
    heads.step_scores();
    heads.look_at({0, 0});
    while (heads.step_maps()) {
    }
    CHECK(heads.scores({0, 0}));
    CHECK(heads.scored() <= 3);
    while (heads.step_scores()) {
    }
    CHECK(heads.done());
    CHECK_FALSE(heads.step_scores());
}

TEST_CASE("heads are put in the order of a score") {
    const HeadOverview heads = finished(windowed_run());
    for (std::size_t i = 0; i < head_scores.size(); ++i) {
        const auto by = static_cast<HeadScore>(i);
        const auto order = strongest_first(heads, by);
        REQUIRE(std::ssize(order) == heads.layers() * heads.heads());
        CHECK(std::ranges::is_sorted(order, std::greater{},
                                     [&](HeadIndex head) { return *number_of(heads.scores(head), by); }));
    }
    // With no score chosen, heads are in layers.
    const HeadOverview fresh = started(windowed_run());
    const auto order = strongest_first(fresh, HeadScore::distance);
    CHECK(std::ranges::is_sorted(order, {}, [&](HeadIndex head) { return fresh.number(head); }));

    CHECK_FALSE(number_of(std::nullopt, HeadScore::entropy));
    HeadScores scores;
    scores.distance = 3;
    scores.entropy = std::numeric_limits<double>::quiet_NaN();
    CHECK(number_of(scores, HeadScore::distance) == 3);
    CHECK_FALSE(number_of(scores, HeadScore::entropy));
}

TEST_CASE("an overview continued from another text equals the text's own") {
    const auto all = windowed_run();
    const auto run_of = [&](Index count, std::int32_t last) {
        std::vector<std::int32_t> ids(all->ids().begin(), all->ids().begin() + count);
        ids.back() = last;
        return *run_forward(all->model(), ids);
    };
    // Same level and other levels, longer and shorter texts, a different end, and texts that differ almost
    // from the beginning.
    const auto [before, after] = GENERATE(table<Index, Index>({{200, 201},
                                                               {201, 201},
                                                               {201, 200},
                                                               {200, 240},
                                                               {240, 201},
                                                               {256, 257},
                                                               {257, 250},
                                                               {64, 65},
                                                               {20, 21},
                                                               {250, 40}}));
    CAPTURE(before, after);
    const auto first = run_of(before, 3), second = run_of(after, 4);
    const Index kept = common_beginning(first->ids(), second->ids());
    const HeadOverview old = finished(first), expected = finished(second);
    HeadOverview heads = started(second);
    heads.take_over(old, kept);
    if (old.maps().level() == heads.maps().level() && 2 * kept > after) {
        CHECK(heads.maps().behind());
        while (heads.catch_up()) {
        }
        CHECK(heads.done());
    }
    while (heads.step_maps()) {
    }
    while (heads.step_scores()) {
    }
    CHECK(heads.done());
    CHECK(heads.scored() == heads.layers() * heads.heads());
    CHECK(heads.extent() == expected.extent());
    const auto same = [](ConstMatrix a, ConstMatrix b) {
        return std::equal(a.data, a.data + a.rows * a.cols, b.data, b.data + b.rows * b.cols);
    };
    CHECK(same(heads.maps().strongest(), expected.maps().strongest()));
    CHECK(same(heads.maps().mean(), expected.maps().mean()));
    for (Index layer = 0; layer < heads.layers(); ++layer)
        for (Index head = 0; head < heads.heads(); ++head)
            for (std::size_t i = 0; i < head_scores.size(); ++i) {
                const auto score = static_cast<HeadScore>(i);
                CHECK(number_of(heads.scores({layer, head}), score) ==
                      number_of(expected.scores({layer, head}), score));
            }
}
