#include "runs/training_plan.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "app/link.hpp"
#include "unit/app/support.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

TrainingPlan induction() { return training_presets()[0].plan; }

TrainingPlan changed(void (*change)(TrainingPlan&)) {
    TrainingPlan plan = induction();
    change(plan);
    return plan;
}

TrainingValues slower() {
    TrainingValues values = induction().values;
    values.rate = 0.001;
    return values;
}

}  // namespace

TEST_CASE("the presets of training are valid, and links name them") {
    CHECK(induction() == TrainingPlan{});
    std::set<std::string_view> keys;
    for (const TrainingPreset& preset : training_presets()) {
        INFO(preset.key);
        CHECK(check(preset.plan));
        CHECK(keys.insert(preset.key).second);
        CHECK(to_text(preset.plan) == preset.key);
        CHECK(parse_training_plan(preset.key) == preset.plan);
        CHECK(training_preset(preset.key) == &preset);
        CHECK(parse_model_config(config_json_of(preset.plan, 300, 0)));
    }
    CHECK(training_preset("nothing") == nullptr);
}

TEST_CASE("an impossible plan is refused with one sentence") {
    struct Wrong {
        void (*spoil)(TrainingPlan&);
        std::string says;
    };
    const Wrong wrong = GENERATE(values<Wrong>({
        {[](TrainingPlan& p) { p.layers = 0; }, "1 to 4 layers, not 0"},
        {[](TrainingPlan& p) { p.layers = 5; }, "1 to 4 layers, not 5"},
        {[](TrainingPlan& p) { p.heads = 9; }, "1 to 8 heads a layer, not 9"},
        {[](TrainingPlan& p) { p.d_model = 256; }, "8 to 128 components a token (d_model), not 256"},
        {[](TrainingPlan& p) { p.d_model = 60; }, "d_model 60 does not divide into 4 heads of an even size"},
        {[](TrainingPlan& p) { p.vocabulary = 2; }, "3 to 2048 tokens in its vocabulary, not 2"},
        {[](TrainingPlan& p) { p.task = TrainingTask::pronouns; },
         "256 to 2048 tokens in its vocabulary, not 64"},
        {[](TrainingPlan& p) { p.context = 1000; }, "8 to 256 tokens a sequence, not 1000"},
        {[](TrainingPlan& p) { p.batch = 0; }, "1 to 64 sequences a step, not 0"},
        {[](TrainingPlan& p) { p.steps = 0; }, "1 to 20000 steps, not 0"},
        {[](TrainingPlan& p) { p.values.rate = 0; }, "The learning rate 0 is not above 0"},
        {[](TrainingPlan& p) { p.values.rate = 2e9; }, "at most 1e9"},
        {[](TrainingPlan& p) { p.values.rate = std::nan(""); }, "is not above 0"},
        {[](TrainingPlan& p) { p.values.window = 65; }, "A window of 65 tokens is not 0 (none) to 64"},
        {[](TrainingPlan& p) { p.values.ablated = {{2, 0}}; }, "There is no head 0 in a layer 2"},
        {[](TrainingPlan& p) { p.values.ablated = {{1, 1}, {1, 1}}; }, "Head 1 of layer 1 is left out twice"},
        {[](TrainingPlan& p) { p.changes = {{800, {}}}; }, "A change at step 800 is not between"},
        {[](TrainingPlan& p) { p.changes = {{9, {}}, {9, {}}}; }, "A change at step 9 is not between"},
        {[](TrainingPlan& p) { p.changes = {{0, {}}}; }, "A change at step 0 is not between"},
        {[](TrainingPlan& p) { p.changes = {{5, {.rate = -1}}}; }, "The learning rate -1"},
        {[](TrainingPlan& p) {
             for (int i = 1; i < 18; ++i) p.changes.push_back({i, {}});
         },
         "at most 16 times"},
        {[](TrainingPlan& p) { p.layers = 4, p.d_model = 128, p.context = 256, p.mlp = true; },
         "the page stays smooth"},
        {[](TrainingPlan& p) { p.steps = 20'000, p.batch = 64; }, "would take many minutes"},
        {[](TrainingPlan& p) { p.text = "\xff"; }, "The text is not UTF-8"},
        {[](TrainingPlan& p) { p.text = std::string(100'001, 'x'); }, "longer than 100,000 bytes"},
    }));
    const Status status = check(changed(wrong.spoil));
    REQUIRE(!status);
    CHECK_THAT(status.error().message, ContainsSubstring(wrong.says));
    CHECK(status.error().message.ends_with('.'));
    CHECK(refusal(default_state(), SetTrainingPlan{changed(wrong.spoil)}) == status.error().message);
}

TEST_CASE("plans share the steps before they differ") {
    const TrainingPlan plan = induction();
    CHECK(common_steps(plan, plan) == 800);
    CHECK(common_steps(plan, changed([](TrainingPlan& p) { p.steps = 1000; })) == 800);
    CHECK(common_steps(plan, changed([](TrainingPlan& p) { p.seed = 2; })) == 0);
    CHECK(common_steps(plan, changed([](TrainingPlan& p) { p.values.rate = 1; })) == 0);
    const TrainingPlan fork = forked(plan, 300, slower());
    CHECK(fork.values_at(299) == plan.values);
    CHECK(fork.values_at(300) == slower());
    CHECK(common_steps(plan, fork) == 300);
    CHECK(common_steps(fork, forked(fork, 500, plan.values)) == 500);
    CHECK(common_steps(fork, forked(plan, 500, plan.values)) == 300);
    CHECK(forked(plan, 300, plan.values) == plan);
    CHECK(forked(fork, 200, plan.values) == plan);
    CHECK(forked(plan, 0, slower()).values == slower());
}

TEST_CASE("a plan can be restored from its text") {
    TrainingPlan plan = induction();
    plan.layers = 3, plan.heads = 8, plan.d_model = 32, plan.mlp = true, plan.vocabulary = 20,
    plan.context = 48;
    plan.batch = 4, plan.steps = 900, plan.seed = 12345678901234567890u;
    plan.values = {.rate = 0.01, .seed = 9, .window = 5, .ablated = {{0, 1}}};
    plan.changes = {{100, {.rate = 0.002, .seed = 9, .window = 5, .ablated = {{0, 1}, {2, 7}}}},
                    {200, {.rate = 0.002, .seed = 9, .window = 0, .ablated = {}}}};
    CHECK(to_text(plan) ==
          "induction,layers:3,heads:8,d:32,mlp:1,vocabulary:20,context:48,batch:4,steps:900,"
          "seed:12345678901234567890,rate:0.01,order:9,window:5,off:0.1,at:100,rate:0.002,off:2.7,at:200,"
          "window:0,on:0.1,on:2.7");
    CHECK(parse_training_plan(to_text(plan)) == plan);

    TrainingPlan own = training_preset("own-text")->plan;
    own.text = "to be, text:or at:3, & not";
    CHECK(parse_training_plan(to_text(own)) == own);
    own.text = std::string(32'001, 'x');
    CHECK(to_text(own) == "own-text");

    for (const char* text :
         {"", ",", "nothing", "induction,", "induction,layers", "induction,layers:", "induction,layers:x",
          "induction,layers:9", "induction,mlp:2", "induction,on:0.0", "induction,off:0",
          "induction,off:0.0.0", "induction,rate:nan", "induction,rate:inf",
          "induction,at:", "induction,at:-1", "induction,at:5,at:5", "induction,steps:99999999999999999999",
          "own-text,text:\xff"})
        CHECK_FALSE(parse_training_plan(text));
    CHECK_FALSE(parse_training_plan("own-text,text:" + std::string(32'001, 'x')));
}

TEST_CASE("a fork keeps its original run for comparison") {
    State s = after(default_state(), ShowTrainingStep{300});
    const State forked_state = after(s, ForkTraining{300, slower()});
    CHECK(training_of(forked_state).compared == induction());
    CHECK(training_of(forked_state).plan == forked(induction(), 300, slower()));
    CHECK(training_of(forked_state).step == 300);
    CHECK(after(s, ForkTraining{300, induction().values}) == s);
    CHECK_THAT(refusal(s, ForkTraining{800, slower()}), ContainsSubstring("cannot be forked at step 800"));
    CHECK_THAT(refusal(s, ForkTraining{-1, slower()}), ContainsSubstring("cannot be forked at step -1"));
    CHECK_THAT(refusal(s, ShowTrainingStep{801}), ContainsSubstring("There is no step 801 in a run of 800"));

    // Another plan is shown from the step where it differs from this one or, during training, as it grows.
    const TrainingPlan other = training_preset("copying")->plan;
    CHECK(training_of(after(s, SetTrainingPlan{other})).step == 0);
    CHECK(training_of(after(s, SetTrainingPlan{forked(induction(), 200, slower())})).step == 200);
    CHECK(training_of(after(s, SetTrainingPlan{forked(induction(), 400, slower())})).step == 300);
    CHECK(training_of(after(s, SetTrainingPlan{changed([](TrainingPlan& p) { p.steps = 1600; })})).step ==
          300);
    s = after(s, RunTraining{true});
    CHECK_FALSE(training_of(after(s, SetTrainingPlan{other})).step);
    CHECK(training_of(s).target() == 800);
    CHECK(training_of(after(s, RunTraining{false})).target() == 300);
    CHECK_FALSE(training_of(default_state()).wants_a_run());
}

TEST_CASE("an impossible fork says why") {
    CHECK(check_fork(induction(), 799, slower()));
    const auto refused = [](const TrainingPlan& plan, std::int64_t step, const TrainingValues& values) {
        const Status status = check_fork(plan, step, values);
        REQUIRE(!status);
        return status.error().message;
    };
    CHECK(refused(induction(), 800, slower()) ==
          "A run of 800 steps cannot be forked at step 800: go back to an earlier step, or add more steps.");
    TrainingValues fast = slower();
    fast.rate = 2e9;
    CHECK_THAT(refused(induction(), 5, fast), ContainsSubstring("The learning rate"));
    TrainingPlan often = induction();
    for (int i = 1; i <= 16; ++i) often = forked(often, i, i % 2 ? slower() : induction().values);
    CHECK_THAT(refused(often, 50, slower()), ContainsSubstring("at most 16 times"));
}

TEST_CASE("changes during a run are described in words") {
    CHECK(changes_told(induction()).empty());
    TrainingValues values = induction().values;
    values.rate *= 3;
    TrainingPlan plan = forked(induction(), 400, values);
    CHECK(changes_told(plan) == "from step 400, rate 0.009");
    values.seed = 2, values.window = 8, values.ablated = {{1, 0}};
    plan = forked(plan, 600, values);
    CHECK(changes_told(plan) ==
          "from step 400, rate 0.009; from step 600, other sequences, a window of 8, without head 1.0");
    values.window = 0, values.ablated = {};
    CHECK(changes_told(forked(plan, 700, values)).ends_with("from step 700, no window, with head 1.0 again"));
    plan.changes = {{5, plan.values}};
    CHECK(changes_told(plan) == "from step 5, as before");
}

TEST_CASE("runs, steps and comparisons of training are in links") {
    State s = after(default_state(), SetTrainingPlan{training_preset("reversal")->plan});
    s = after(s, ShowTrainingStep{120});
    s = after(s, ForkTraining{120, slower()});
    s = after(s, RunTraining{true});
    CHECK(to_fragment(s) == "v=1&train=reversal,at:120,rate:0.001&versus=reversal&step=120&training=on");
    CHECK(parse_fragment(to_fragment(s)).state == s);
    CHECK(
        parse_fragment("train=banana").note ==
        "The link's value 'banana' for 'train' is not the plan of a training run, as induction,layers:3; the "
        "default is used.");
    CHECK(training_of(parse_fragment("train=induction,steps:10&step=11").state).plan.steps == 10);
    CHECK_FALSE(training_of(parse_fragment("train=induction,steps:10&step=11").state).step);
}
