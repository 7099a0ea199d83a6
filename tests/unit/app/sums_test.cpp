// Checks that rows, columns and the marked part of a map explain their sums, as do its cells without the
// first key and the scores of a head.
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/link.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

MapSum sum_cell(MapTotal total, Index at, Stage of, Sink sink = Sink::shown, Unit unit = Unit::tokens) {
    return {total, at, of, false, unit, sink};
}

// Sums the cells of a window in double, from their own explanations; masked ones do not count.
struct Summed {
    double sum = 0, entropy = 0;
    int cells = 0;
};
Summed summed(const Visit& visit, const Window& window, const RunCell& like) {
    Summed all;
    for (Index q = window.queries.begin; q < window.queries.end; ++q)
        for (Index k = window.keys.begin; k < window.keys.end; ++k) {
            RunCell cell = like;
            cell.row = q;
            cell.col = k;
            const auto why = explained(visit, cell);
            REQUIRE(why);
            if (why->masked) continue;
            ++all.cells;
            all.sum += why->f64;
            if (why->f64 > 0) all.entropy -= why->f64 * std::log(why->f64);
        }
    return all;
}

// The bound for f32 is a few roundings of each cell, relative to their sum.
void check_sum(const Visit& visit, const MapSum& cell, double f64, int cells) {
    INFO(write_cell(cell));
    const auto why = explained(visit, cell);
    REQUIRE(why);
    CHECK(why->recomputed);
    CHECK(std::ssize(why->operands) == cells);
    CHECK(why->f64 == Catch::Approx(f64).epsilon(1e-14).margin(1e-15));
    CHECK(why->f32 == Catch::Approx(f64).epsilon(1e-5).margin(1e-6));
    for (const auto& operand : why->operands) {
        REQUIRE(operand.left_at);
        const auto there = explained(visit, operand.left_at->cell);
        REQUIRE(there);
        CHECK(there->f64 == operand.left);
    }
    CHECK(refusal(visit.state(), Pin{MapSum{cell.total, -1, cell.of}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
    CHECK(refusal(visit.state(), Pin{MapSum{cell.total, 0, Stage::output}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
    const State pinned = after(visit.state(), Pin{cell});
    CHECK(parse_fragment(to_fragment(pinned)).state.pin == cell);
}

}  // namespace

TEST_CASE("rows and columns of a model's maps explain their sums, also without the first key") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    visit.perform(Select{{1, 2, {}, {}, {}}});
    for (const Stage of : {Stage::weight, Stage::contribution, Stage::projected})
        for (const Sink sink : {Sink::shown, Sink::hidden, Sink::renormalised})
            for (Index i = 0; i < 5; ++i) {
                const RunCell like{of, 0, 0, false, Unit::tokens, sink};
                const Summed row = summed(visit, {{i, i + 1}, {0, 5}}, like),
                             column = summed(visit, {{0, 5}, {i, i + 1}}, like);
                check_sum(visit, sum_cell(MapTotal::row_total, i, of, sink), row.sum, row.cells);
                check_sum(visit, sum_cell(MapTotal::column_total, i, of, sink), column.sum, column.cells);
                if (of == Stage::weight)
                    check_sum(visit, sum_cell(MapTotal::row_entropy, i, of, sink), row.entropy, row.cells);
            }
    CHECK_FALSE(explained(visit, sum_cell(MapTotal::row_total, 5, Stage::weight)));
    CHECK(refusal(visit.state(), Pin{sum_cell(MapTotal::row_total, 0, Stage::raw, Sink::hidden)}) ==
          "Choose a cell on screen to pin; this one does not exist.");
}

TEST_CASE("the marked part of a map explains its sum, mean and strongest cell") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    const MapSum cell = sum_cell(MapTotal::marked_total, 0, Stage::weight);
    CHECK_FALSE(explained(visit, cell));
    const Window part{{2, 5}, {1, 4}};
    visit.perform(MarkPart{part});
    CHECK(parse_fragment(to_fragment(visit.state())).state == visit.state());
    const Summed all = summed(visit, part, {Stage::weight, 0, 0});
    CHECK(all.cells == 8);
    check_sum(visit, cell, all.sum, all.cells);
    const auto why = explained(visit, cell);
    const auto& strongest = why->steps.back();
    CHECK(strongest.name == "strongest");
    REQUIRE(strongest.at);
    double most = 0;
    for (const auto& operand : why->operands) most = std::max(most, operand.left);
    CHECK(explained(visit, strongest.at->cell)->f64 == most);
    visit.perform(MarkPart{Window{{3, 9}, {0, 2}}});
    CHECK_FALSE(explained(visit, cell));  // the text is shorter
    CHECK(refusal(visit.state(), MarkPart{Window{{-1, 2}, {0, 2}}}) ==
          "Choose a part of the map to mark; this one is outside.");
}

TEST_CASE("sums of the worked example and of a user's tensors, with fully masked rows") {
    FakePage page;
    Visit visit(page);
    visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    for (Index i = 0; i < 3; ++i) {
        const Summed row = summed(visit, {{i, i + 1}, {0, 3}}, {Stage::weight, 0, 0}),
                     column = summed(visit, {{0, 3}, {i, i + 1}}, {Stage::weight, 0, 0});
        check_sum(visit, sum_cell(MapTotal::row_entropy, i, Stage::weight), row.entropy, row.cells);
        check_sum(visit, sum_cell(MapTotal::column_total, i, Stage::weight), column.sum, column.cells);
    }
    CHECK(explained(visit, sum_cell(MapTotal::row_entropy, 0, Stage::weight))->operands.empty());

    TensorsVisit own;
    own.drop({{"attention.npy", weights_npy({2, 4, 6, 6})}});
    REQUIRE(own.open());
    own.visit.perform(Select{{1, 3, {}, {}, {}}});
    for (Index i = 0; i < 6; ++i) {
        const Summed row = summed(own.visit, {{i, i + 1}, {0, 6}}, {Stage::weight, 0, 0});
        check_sum(own.visit, sum_cell(MapTotal::row_total, i, Stage::weight), row.sum, 6);
    }
    // The sum of a stored row leads there.
    const auto stored = explained(own.visit, RunCell{Stage::weight, 2, 3});
    REQUIRE(stored->steps.back().at);
    CHECK(stored->steps.back().at->cell == sum_cell(MapTotal::row_total, 2, Stage::weight));
}

TEST_CASE("a sum of too many cells says so, and is added up in slices") {
    TensorsVisit own;
    own.drop({{"q.npy", normal_npy({1, 1500, 8}, 1)}, {"k.npy", normal_npy({1, 1500, 8}, 2)}});
    REQUIRE(own.open());
    // Draws frames until the sum is complete.
    const auto added_up = [&](const CellRef& cell) {
        auto why = explained(own.visit, cell);
        for (int frames = 0; frames < 1000 && why && std::isnan(why->f32); ++frames) {
            own.visit.begin_frame();
            why = explained(own.visit, cell);
            if (own.visit.frame_computes()) own.visit.work(4);
        }
        REQUIRE(why);
        return *why;
    };
    const Explained row = added_up(sum_cell(MapTotal::row_total, 7, Stage::weight));
    CHECK_FALSE(row.recomputed);
    CHECK(row.f32 == Catch::Approx(1).epsilon(1e-5));
    CHECK(row.note == "There are 1,500 cells here, too many to go through each of them again in double.");
    own.visit.perform(MarkPart{Window{{0, 1500}, {0, 1500}}});
    const CellRef all = sum_cell(MapTotal::marked_total, 0, Stage::weight);
    const auto begun = explained(own.visit, all);
    REQUIRE(begun);
    CHECK(begun->note.starts_with("Adding it up: "));
    CHECK(added_up(all).f32 == Catch::Approx(1500).epsilon(1e-5));
}

TEST_CASE("cells of a map without the first key explain the map's numbers") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    TextRun& run = *sentence_in(visit).run();
    for (const Stage stage : {Stage::weight, Stage::contribution, Stage::projected})
        for (const Sink sink : {Sink::hidden, Sink::renormalised}) {
            const MapPointer map = run.maps({.stage = stage, .sink = sink})(1, 0);
            visit.perform(Select{{1, 0, {}, {}, {}}});
            for (Index query = 0; query < 5; ++query)
                for (Index key = 1; key <= query; ++key) {
                    const auto why = explained(visit, RunCell{stage, query, key, false, Unit::tokens, sink});
                    REQUIRE(why);
                    CHECK(why->f32 == Catch::Approx(map->cell(query, key)).epsilon(2e-6));
                    CHECK(why->f64 == Catch::Approx(why->f32).epsilon(1e-4));
                    CHECK_FALSE(why->note.empty());
                }
            const auto first = explained(visit, RunCell{stage, 2, 0, false, Unit::tokens, sink});
            REQUIRE(first);
            CHECK(first->masked);
        }
    // Σ of a renormalised row is 1.
    double sum = 0;
    for (Index key = 1; key < 5; ++key)
        sum += explained(visit, RunCell{Stage::weight, 4, key, false, Unit::tokens, Sink::renormalised})->f64;
    CHECK(sum == Catch::Approx(1).epsilon(1e-14));
    const State pinned =
        after(visit.state(), Pin{RunCell{Stage::weight, 4, 1, false, Unit::tokens, Sink::renormalised}});
    CHECK(refusal(visit.state(), Pin{RunCell{Stage::raw, 4, 1, false, Unit::tokens, Sink::hidden}}) ==
          "Choose a cell on screen to pin; this one does not exist.");
    CHECK(pinned.pin->run()->sink == Sink::renormalised);
}

TEST_CASE("a head's scores are summed again in double, row by row") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    TextRun& run = *sentence_in(visit).run();
    HeadOverview& heads = *run.overview();
    int measured = 0;
    for (std::size_t i = 0; i < head_scores.size(); ++i) {
        const auto score = static_cast<HeadScore>(i);
        INFO(info(score).name);
        const HeadIndex head{1, 2};
        const auto shown = number_of(heads.scores(head), score);
        const auto why = explained(visit, head_score_cell(heads, head, score));
        CHECK(why.has_value() == shown.has_value());
        if (!why) continue;
        CHECK(why->f32 == *shown);
        if (!why->recomputed) continue;
        ++measured;
        CHECK(why->f64 == Catch::Approx(*shown).epsilon(1e-5));
        double sum = 0;
        for (const auto& operand : why->operands) sum += operand.product;
        CHECK(sum == Catch::Approx(why->f64).epsilon(1e-13));
        CHECK(std::ssize(why->operands) == run.tokens());
    }
    CHECK(measured >= 6);
    CHECK_FALSE(explained(visit, RunCell{.stage = Stage::head_score, .row = 10'000, .col = 0}));
    CHECK_FALSE(explained(visit, RunCell{.stage = Stage::head_score, .row = 0, .col = 10'000}));
}
