// Tests networks that learn with a mistake, and the one without that they are compared with.
#include "runs/mistaken_training.hpp"

#include <catch_amalgamated.hpp>

#include "analysis/check/mistakes.hpp"
#include "runs/training_run.hpp"

using namespace attn;
using namespace attn::app;
using Catch::Matchers::ContainsSubstring;

namespace {

Implementation mistaken(std::string_view key, std::size_t variant = 0) {
    const AttentionCase& shape = mistaken_training_case();
    Implementation how = right_implementation(shape);
    find_mistake(key)->variants(shape)[variant].apply(how);
    return how;
}
void take_steps(MistakenTraining& run, std::int64_t steps) {
    while (!run.done() && run.steps_taken() < steps) run.step();
}

}  // namespace

TEST_CASE("a network without a mistake learns as in Training, bit for bit") {
    auto run = MistakenTraining::start(std::nullopt);
    REQUIRE(run);
    take_steps(*run, 6);
    auto usual = TrainingRun::start(mistaken_training_plan());
    REQUIRE(usual);
    while (usual->steps_taken() < 6) usual->advance(6, 1000);
    CHECK(std::ranges::equal(run->losses(), usual->losses()));
}

TEST_CASE("a mistake that changes no number learns as the right attention does, and others do not") {
    auto right = MistakenTraining::start(std::nullopt),
         shifted = MistakenTraining::start(mistaken("rope_position_from_one", 2)),
         unscaled = MistakenTraining::start(mistaken("scale_missing"));
    REQUIRE(right);
    REQUIRE(shifted);
    REQUIRE(unscaled);
    for (auto* run : {&right, &shifted, &unscaled}) take_steps(**run, 4);
    for (std::size_t step = 0; step < 4; ++step) {
        // The kernels' sums are in f32 and in another order.
        CHECK(shifted->losses()[step] == Catch::Approx(right->losses()[step]).epsilon(1e-4));
        CHECK(std::abs(unscaled->losses()[step] - right->losses()[step]) > 1e-3F);
    }
}

TEST_CASE("a loss that is not a number ends a run with one sentence") {
    auto run = MistakenTraining::start(mistaken("causal_strict", 1));
    REQUIRE(run);
    while (run->step()) continue;
    CHECK(run->done());
    CHECK(run->steps_taken() == 0);
    REQUIRE(run->failure());
    CHECK_FALSE(run->failure()->message.empty());
    CHECK_FALSE(run->measured());
}

TEST_CASE("runs with mistakes keep pace with the right one, and stay") {
    MistakenTrainings runs;
    const Implementation how = mistaken("scale_missing"), broken = mistaken("causal_strict", 1);
    CHECK_FALSE(runs.right());
    while (!runs.of(how) || runs.of(how)->steps_taken() < 3) REQUIRE(runs.step(how));
    CHECK(std::abs(runs.right()->steps_taken() - runs.of(how)->steps_taken()) <= 1);
    CHECK(runs.steps_taken() == runs.right()->steps_taken() + runs.of(how)->steps_taken());
    // The right run goes on when the other has failed.
    const std::int64_t before = runs.right()->steps_taken();
    while (runs.right()->steps_taken() < before + 1) REQUIRE(runs.step(broken));
    CHECK(runs.of(broken)->failure());
    CHECK(runs.of(how)->steps_taken() >= 3);
}
