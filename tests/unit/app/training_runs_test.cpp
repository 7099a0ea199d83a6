#include "runs/training_runs.hpp"

#include "support/threads.hpp"
#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

State with_small_plan() {
    TrainingPlan plan;
    plan.heads = 2, plan.d_model = 16, plan.vocabulary = 16, plan.context = 16, plan.batch = 2,
    plan.steps = 24;
    return after(default_state(), SetTrainingPlan{plan});
}

void finish_run(TrainingRuns& runs, const State& state) {
    while (runs.work(training_of(state), 5)) {
    }
}

}  // namespace

TEST_CASE("nothing is trained until the user asks") {
    TrainingRuns runs;
    const State s = with_small_plan();
    CHECK_FALSE(runs.work(training_of(s), 5));
    CHECK(runs.shown() == nullptr);
    CHECK(runs.shown_view(training_of(s)) == nullptr);
}

TEST_CASE("a run goes to the wanted step, or to its end") {
    const Threads one(1);
    TrainingRuns runs;
    State s = after(with_small_plan(), ShowTrainingStep{0});
    finish_run(runs, s);
    REQUIRE(runs.shown());
    CHECK(runs.shown()->steps_taken() == 0);
    REQUIRE(runs.shown_view(training_of(s)));
    s = after(s, ShowTrainingStep{6});
    finish_run(runs, s);
    CHECK(runs.shown()->steps_taken() == 6);
    CHECK(runs.shown_view(training_of(s))->step == 6);
    s = after(s, RunTraining{true});
    finish_run(runs, s);
    CHECK(runs.shown()->steps_taken() == 24);
    CHECK(runs.shown_view(training_of(s))->step == 4);
    s = after(s, ShowTrainingStep{std::nullopt});
    const TrainingView* newest = runs.shown_view(training_of(s));
    CHECK(newest->step == 24);
    CHECK(runs.shown_view(training_of(s)) == newest);
    CHECK_FALSE(runs.take_error());
}

TEST_CASE("a fork takes over its beginning, and both runs continue side by side") {
    const Threads one(1);
    TrainingRuns runs;
    State s = after(with_small_plan(), ShowTrainingStep{12});
    finish_run(runs, s);
    const TrainingRun* first = runs.shown();
    TrainingValues values = training_of(s).plan.values;
    values.ablated = {{1, 1}};
    s = after(s, ForkTraining{12, values});
    finish_run(runs, s);
    CHECK(runs.compared() == first);
    CHECK(runs.shown() != first);
    CHECK(runs.shown()->steps_taken() == 12);
    CHECK(runs.shown_view(training_of(s))->step == 12);
    CHECK(runs.compared_view(training_of(s))->step == 12);
    s = after(s, RunTraining{true});
    for (bool more = true; more;) {
        more = runs.work(training_of(s), 0);
        const auto ahead = runs.shown()->steps_taken() - runs.compared()->steps_taken();
        CHECK(std::abs(ahead) <= 1);
    }
    CHECK(runs.shown()->steps_taken() == 24);
    CHECK(runs.compared()->steps_taken() == 24);
    CHECK(std::ranges::equal(runs.shown()->losses().first(12), runs.compared()->losses().first(12)));
    CHECK_FALSE(std::ranges::equal(runs.shown()->losses(), runs.compared()->losses()));

    // After undo, the first run is shown again and has lost nothing.
    auto& course = s.edit<TrainingState>();
    course.plan = *std::exchange(course.compared, std::nullopt);
    CHECK_FALSE(runs.work(training_of(s), 5));
    CHECK(runs.shown() == first);
    CHECK(runs.compared() == nullptr);
}

TEST_CASE("a finished run outlives the plans that a slider passes, so that undo leads back to it") {
    const Threads one(1);
    TrainingRuns runs;
    const State finished = after(with_small_plan(), RunTraining{true});
    finish_run(runs, finished);
    const TrainingRun* first = runs.shown();
    REQUIRE(first->steps_taken() == 24);
    for (int i = 1; i <= 12; ++i) {
        TrainingPlan plan = training_of(finished).plan;
        plan.values.rate *= 1 + 0.1 * i;
        runs.work(training_of(after(finished, SetTrainingPlan{plan})), 0);
    }
    CHECK(runs.shown() != first);
    CHECK_FALSE(runs.work(training_of(finished), 5));
    CHECK(runs.shown() == first);
}

TEST_CASE("an invalid plan, and a run that breaks, are reported once") {
    const Threads one(1);
    TrainingRuns runs;
    State s = after(default_state(), SetTrainingPlan{training_preset("own-text")->plan});
    s = after(s, RunTraining{true});
    CHECK_FALSE(runs.work(training_of(s), 5));
    const auto error = runs.take_error();
    REQUIRE(error);
    CHECK_THAT(error->message, ContainsSubstring("There is no text"));
    CHECK_FALSE(runs.work(training_of(s), 5));
    CHECK_FALSE(runs.take_error());

    TrainingPlan plan = training_of(with_small_plan()).plan;
    plan.values.rate = 1e9;
    s = after(s, SetTrainingPlan{plan});
    finish_run(runs, s);
    CHECK_THAT(runs.take_error().value_or(Error{}).message, ContainsSubstring("no longer a finite number"));
    CHECK_FALSE(runs.work(training_of(s), 5));
    CHECK_FALSE(runs.take_error());
    CHECK(runs.shown_view(training_of(s)) != nullptr);
}

TEST_CASE("runs that are no longer wanted are kept as far as memory allows") {
    const Threads one(1);
    const auto with_rate = [](double rate) {
        State s = with_small_plan();
        TrainingPlan plan = training_of(s).plan;
        plan.values.rate = rate;
        return after(after(s, SetTrainingPlan{plan}), RunTraining{true});
    };
    TrainingRuns roomy;
    finish_run(roomy, with_rate(0.001));
    const std::int64_t of_one = roomy.bytes();
    CHECK(of_one > 0);
    for (const double rate : {0.002, 0.003, 0.004, 0.005}) finish_run(roomy, with_rate(rate));
    CHECK(roomy.bytes() == 4 * of_one);

    TrainingRuns narrow(of_one * 5 / 2);
    for (const double rate : {0.001, 0.002, 0.003, 0.004}) {
        finish_run(narrow, with_rate(rate));
        CHECK(narrow.bytes() <= of_one * 5 / 2);
        REQUIRE(narrow.shown());
        CHECK(narrow.shown()->steps_taken() == 24);
    }
    CHECK(narrow.bytes() == 2 * of_one);
    // A shown run stays, however much memory it takes.
    TrainingRuns none(1);
    finish_run(none, with_rate(0.001));
    CHECK(none.shown()->steps_taken() == 24);
    CHECK(none.bytes() == of_one);
    CHECK(none.shown()->targets() > 0);
}
