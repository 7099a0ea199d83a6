// Checks that every cell's f64 is the expression evaluated in double on the numbers as typed.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <limits>

#include "support/numbers.hpp"
#include "unit/app/random_commands.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum Stage;

namespace {

WorkedExplanation why(const WorkedState& worked, RunCell cell) {
    const auto run = run_worked(worked);
    REQUIRE(run);
    return explain_worked(worked, *run, cell);
}

}  // namespace

TEST_CASE("a score is the sum of its products as typed") {
    // Not 1.2700000244, which the f32 inputs give.
    const State s = after(default_state(), SetCell{{x, 0, 1}, 0.7});
    const WorkedExplanation score = why(worked_of(s), {raw, 0, 1});
    CHECK(score.kind == WorkedExplanation::Kind::stage);
    CHECK(score.provenance == "computed");
    CHECK(score.cell.f64 == 1.0 * 0.3 + 0.7 * 0.9 + 0.2 * 0.1 + 0.8 * 0.4);
    CHECK(std::abs(score.cell.f64 - 1.27) < 3e-16);
    CHECK(score.cell.f32 == Catch::Approx(1.27).margin(2e-7));
    REQUIRE(score.cell.terms.size() == 4);
    CHECK(score.cell.terms[1].left == 0.7);
    CHECK(score.cell.terms[1].right == 0.9);

    const WorkedExplanation projected = why(worked_of(s), {q, 0, 1});
    CHECK(projected.kind == WorkedExplanation::Kind::projection);
    CHECK(projected.cell.f64 == 0.7);
    CHECK(projected.cell.f32 == 0.7f);
    REQUIRE(projected.cell.terms.size() == 4);
    CHECK(projected.cell.terms[1].left == 0.7);
    CHECK(projected.cell.terms[1].right == 1);
}

TEST_CASE("scale, soft cap and temperature are exact too") {
    State s = opened(PresetId::three_tokens);
    s = after(s, SetTemperature{0.1});
    s = after(s, SetSoftcap{0.3});
    const CellExplanation cell = why(worked_of(s), {weight, 2, 2}).cell;
    CHECK(cell.raw == 2);
    CHECK(cell.scale == 1.0 / (std::sqrt(2.0) * 0.1));
    CHECK(cell.scaled == cell.scale * 2);
    CHECK(cell.capped == 0.3 * std::tanh(cell.scaled / 0.3));
    CHECK(cell.masked == cell.capped);
    CHECK(cell.weight == cell.exponential / cell.row_sum);
    CHECK(cell.f64 == cell.weight);
    CHECK(std::abs(static_cast<double>(cell.f32) - cell.f64) < 1e-6);
}

TEST_CASE("an output is the sum of weights and values, whose weights sum to one") {
    const State s = opened(PresetId::hello_query);
    const WorkedExplanation out = why(worked_of(s), {output, 0, 1});
    CHECK(out.kind == WorkedExplanation::Kind::output);
    REQUIRE(out.cell.terms.size() == 2);
    CHECK(out.cell.terms[0].left + out.cell.terms[1].left == Catch::Approx(1).margin(1e-15));
    CHECK(out.cell.terms[1].right == 0.12);
    CHECK(out.cell.f64 == out.cell.terms[0].product() + out.cell.terms[1].product());
}

TEST_CASE("infinite scores take none of the row, all of it, or a share of it") {
    State s = opened(PresetId::information_flow);
    s = after(s, SetCell{{raw, 0, 1}, -infinity});
    s = after(s, SetCell{{raw, 1, 0}, infinity});
    for (Index j = 0; j < 3; ++j) s = after(s, SetCell{{raw, 2, j}, -infinity});
    const double a = std::exp(0.8), b = std::exp(0.2);
    const double exact[] = {a / (a + b), 0, b / (a + b), 1, 0, 0, 0, 0, 0};
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 3; ++j) {
            const WorkedExplanation cell = why(worked_of(s), {weight, i, j});
            CHECK(std::abs(cell.cell.f64 - exact[i * 3 + j]) < 1e-15);
            CHECK(std::abs(static_cast<double>(cell.cell.f32) - exact[i * 3 + j]) < 1e-6);
        }
    CHECK(why(worked_of(s), {scaled, 0, 1}).cell.f64 == -infinity);
    CHECK(why(worked_of(s), {scaled, 0, 1}).cell.f32 == -std::numeric_limits<float>::infinity());

    // A soft cap makes infinite scores finite again.
    s = after(s, SetSoftcap{2});
    const WorkedExplanation capped_cell = why(worked_of(s), {capped, 0, 1});
    CHECK(capped_cell.cell.f64 == -2);
    CHECK(capped_cell.cell.f32 == -2);
    CHECK(why(worked_of(s), {weight, 2, 0}).cell.f64 == Catch::Approx(1.0 / 3));
}

TEST_CASE("a given score's chain shows what becomes of it") {
    const State s = after(opened(PresetId::causal_row), SetTemperature{2});
    const WorkedExplanation given = why(worked_of(s), {raw, 0, 1});
    CHECK(given.kind == WorkedExplanation::Kind::input);
    CHECK(given.provenance == "from example D");
    CHECK(given.cell.f64 == 0.8);
    CHECK(given.cell.scaled == 0.4);
    CHECK(given.cell.weight == why(worked_of(s), {weight, 0, 1}).cell.f64);
    CHECK(given.cell.terms.empty());
}

TEST_CASE("a masked cell has no weight") {
    const State s = opened(PresetId::causal_row);
    const WorkedExplanation hidden = why(worked_of(s), {weight, 0, 3});
    CHECK_FALSE(hidden.cell.allowed);
    CHECK(hidden.cell.f64 == 0);
    CHECK(hidden.cell.f32 == 0);
    CHECK(why(worked_of(s), {masked, 0, 3}).cell.f64 == -infinity);
}

TEST_CASE("inputs say where they came from") {
    State s = default_state();
    CHECK(why(worked_of(s), {x, 0, 1}).provenance == "from example A");
    CHECK(why(worked_of(s), {x, 0, 1}).cell.f64 == 0.5);
    s = after(s, SetCell{{x, 0, 1}, 0.7});
    CHECK(why(worked_of(s), {x, 0, 1}).provenance == "changed; example A has 0.5 here");
    s = after(s, Resize{Axis::queries, 4});
    CHECK(why(worked_of(s), {x, 3, 0}).provenance == "added; example A has no such cell");
    s = after(s, Generate{7});
    CHECK(why(worked_of(s), {k, 3, 3}).provenance == "generated: numpy.random.seed(7), randn");
    // Generated values stay the same when a row is added.
    s = after(s, Resize{Axis::queries, 5});
    CHECK(why(worked_of(s), {k, 3, 3}).provenance == "generated: numpy.random.seed(7), randn");
    CHECK(why(worked_of(s), {q, 4, 0}).provenance == "added; numpy.random.seed(7), randn has no such cell");
    s = after(s, SetSource{Source::scores});
    CHECK(why(worked_of(s), {raw, 0, 0}).provenance == "typed, pasted or carried over");
}

TEST_CASE("cells are named by their tokens") {
    const WorkedState s = worked_of(default_state());
    CHECK(cell_name(s, {x, 1, 2}) == "X[sat, 2]");
    CHECK(cell_name(s, {w_q, 1, 2}) == "W_Q[1, 2]");
    CHECK(cell_name(s, {weight, 0, 2}) == "Weights[cat, mat]");
    const WorkedState hello = preset_state(PresetId::hello_query);
    CHECK(cell_name(hello, {k, 1, 0}) == "K[World, 0]");
    CHECK(cell_name(hello, {raw, 0, 1}) == "Scores[Hello, World]");
}

TEST_CASE("matrices have their stated shapes, and f64 is close to f32") {
    RandomCommands commands(3);
    State s = default_state();
    for (int step = 0; step < 3000; ++step) {
        if (auto next = app::apply(s, commands.next(s))) s = *next;
        if (worked_of(s).queries() > 8 || worked_of(s).keys() > 8) s = default_state();
        const auto run = run_worked(worked_of(s));
        REQUIRE(run);
        for (int i = 0; i < stage_count; ++i) {
            const auto id = static_cast<Stage>(i);
            const MatrixShape shape = shape_of(worked_of(s), id);
            const Matrix m = run->matrix(worked_of(s), id);
            REQUIRE(m.rows == shape.rows);
            REQUIRE(m.cols == shape.cols);
            if (shape.rows == 0) continue;
            const RunCell cell{id, step % shape.rows, step % shape.cols};
            const WorkedExplanation e = explain_worked(worked_of(s), *run, cell);
            REQUIRE_FALSE(e.provenance.empty());
            const double size = std::abs(e.cell.f64);
            REQUIRE(!std::isnan(e.cell.f64));
            // Sums in which large numbers cancel say nothing about rounding.
            const bool plain =
                std::ranges::all_of(run->q.values, [](double value) { return std::abs(value) < 10; }) &&
                std::ranges::all_of(run->k.values, [](double value) { return std::abs(value) < 10; }) &&
                std::ranges::all_of(run->v.values, [](double value) { return std::abs(value) < 10; });
            if (plain && std::isfinite(size) && worked_of(s).source != Source::scores &&
                worked_of(s).temperature >= 0.5)
                REQUIRE(std::abs(static_cast<double>(e.cell.f32) - e.cell.f64) <= 1e-4 * std::max(1.0, size));
        }
    }
}
