// Tests the controls of a network in training: how a run continues, forks, and waits for the user.
#include <catch_amalgamated.hpp>

#include "app/link.hpp"
#include "support/this_build.hpp"
#include "unit/frame/screen.hpp"

// Included last, because it needs Dear ImGui's own types.
#include <imgui_internal.h>

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

TrainingPlan small(std::int64_t steps) {
    TrainingPlan plan;
    plan.layers = 1, plan.heads = 2, plan.d_model = 16, plan.context = 16, plan.batch = 1, plan.steps = steps;
    return plan;
}

void train(Screen& screen, const TrainingPlan& plan, std::int64_t step) {
    screen.visit.perform(OpenSubject{training_subject});
    screen.visit.perform(SetTrainingPlan{plan});
    screen.visit.perform(ShowTrainingStep{step});
    for (int i = 0; i < 5000 && screen.visit.work(5); ++i) continue;
    screen.settle();
}

const TrainingState& course(const Screen& screen) { return training_of(screen.visit.state()); }

// Hovers over a control and says whether a tooltip is shown.
bool tells_why(Screen& screen, const std::string& control) {
    screen.hover(control);
    const ImGuiWindow* tooltip = ImGui::FindWindowByName("##Tooltip_00");
    return tooltip && tooltip->Active;
}

}  // namespace

TEST_CASE("at its last step a run can be extended; impossible steps are disabled and say why") {
    Screen screen({1440, 1400});
    train(screen, small(8), 8);
    REQUIRE(runs_in(screen.visit).shown()->finished());
    CHECK_FALSE(screen.shows("training/train"));
    const State before = screen.visit.state();
    for (const char* control : {"training/ablate/0.0", "training/faster", "training/slower",
                                "training/other-data", "training/step", "training/newest"}) {
        INFO(control);
        CHECK(tells_why(screen, control));
        screen.click(control);
        CHECK(screen.visit.state() == before);
    }
    CHECK(screen.page.notices.empty());

    const std::vector<float> losses(runs_in(screen.visit).shown()->losses().begin(),
                                    runs_in(screen.visit).shown()->losses().end());
    screen.click("training/extend");
    CHECK(course(screen).plan.steps == 16);
    screen.settle();
    const TrainingRun* longer = runs_in(screen.visit).shown();
    CHECK(longer->steps_taken() == 16);
    CHECK(std::ranges::equal(longer->losses().first(8), losses));
    CHECK(parse_fragment(screen.page.url).state.of<TrainingState>() == course(screen));
    screen.visit.perform(ShowTrainingStep{8});
    screen.settle();
    CHECK_FALSE(tells_why(screen, "training/ablate/0.0"));
    screen.visit.undo();
    CHECK(course(screen).plan.steps == 8);
    CHECK(course(screen).step == 8);
    screen.settle();
    CHECK(screen.shows("training/extend"));
    CHECK(screen.page.notices.empty());
}

TEST_CASE("a run that must not become longer says why") {
    if (test::sanitized) SKIP("10,000 steps of training take long under the sanitizers");
    Screen screen({1440, 1400});
    TrainingPlan plan = small(training_steps_limit / 2 + 1);
    plan.heads = 1, plan.d_model = 8, plan.context = 8, plan.vocabulary = 4;
    train(screen, plan, plan.steps);
    REQUIRE(runs_in(screen.visit).shown()->finished());
    CHECK(tells_why(screen, "training/extend"));
    screen.click("training/extend");
    CHECK(course(screen).plan == plan);
    CHECK(screen.page.notices.empty());
}

TEST_CASE("after a fork the controls name it, show its settings, and change these") {
    Screen screen({1440, 1400});
    train(screen, small(24), 8);
    CHECK_FALSE(screen.shows("training/fork"));
    screen.click("training/faster");
    screen.settle();
    REQUIRE(screen.shows("training/fork"));
    REQUIRE(course(screen).plan.changes.size() == 1);
    CHECK(changes_told(course(screen).plan) == "from step 8, rate 0.009");
    CHECK(
        subject_in(screen.visit).comparing()->comparison_names().first.ends_with("from step 8, rate 0.009"));

    const TrainingPlan fork = course(screen).plan, whole = *course(screen).compared;
    screen.click("training/rate");
    screen.settle();
    CHECK(course(screen).plan.values == fork.values);
    REQUIRE(course(screen).plan.changes.size() == 1);
    CHECK(course(screen).plan.last_values().rate != fork.last_values().rate);
    CHECK(course(screen).compared == whole);
    CHECK(course(screen).step == 8);
    // Another network is another run from the start.
    screen.click("training/layers/more");
    CHECK(course(screen).plan.changes.empty());
    CHECK(course(screen).step == 0);
}

TEST_CASE("an ablated head is restored by the same button") {
    Screen screen({1440, 1400});
    train(screen, small(24), 8);
    screen.click("training/ablate/0.1");
    screen.settle();
    CHECK(changes_told(course(screen).plan) == "from step 8, without head 0.1");
    screen.click("training/ablate/0.1");
    screen.settle();
    CHECK(course(screen).plan.changes.empty());
    CHECK(screen.page.notices.empty());
}

TEST_CASE("a user's own text is learned only after pressing Train") {
    Screen screen({1440, 1400});
    train(screen, small(800), 4);
    screen.visit.perform(RunTraining{true});
    screen.click("training/preset/Own text");
    screen.settle();
    CHECK_FALSE(course(screen).wants_a_run());
    CHECK(screen.shows("training/tokens"));
    CHECK(tells_why(screen, "training/train"));
    screen.click("training/train");
    CHECK_FALSE(course(screen).wants_a_run());
    CHECK(screen.page.notices.empty());

    const std::string text = "The cat sat on the mat, and the dog sat on the log. The end of it is near.";
    screen.visit.text_typed(Box::first, text.substr(0, 5));
    screen.settle();
    CHECK(tells_why(screen, "training/train"));
    screen.visit.text_typed(Box::first, text);
    screen.settle();
    CHECK(runs_in(screen.visit).shown() == nullptr);
    CHECK_FALSE(tells_why(screen, "training/train"));
    // The preset is still the chosen one, so a click on it changes nothing.
    screen.click("training/preset/Own text");
    CHECK(course(screen).plan.text == text);

    TrainingPlan plan = course(screen).plan;
    plan.layers = 1, plan.heads = 2, plan.d_model = 16, plan.context = 16, plan.batch = 1,
    plan.vocabulary = 256, plan.steps = 4;
    screen.visit.perform(SetTrainingPlan{plan});
    screen.draw(2);
    screen.click("training/train");
    screen.settle();
    REQUIRE(runs_in(screen.visit).shown());
    CHECK(runs_in(screen.visit).shown()->finished());
    screen.visit.text_typed(Box::first, text + text);
    CHECK_FALSE(course(screen).wants_a_run());
    CHECK(screen.page.notices.empty());
}

TEST_CASE("a link's step is trained once the text that it left out is there") {
    Screen screen;
    screen.visit.start(
        "lens=training&train=own-text,layers:1,heads:2,d:16,context:8,batch:1,vocabulary:256,steps:4&step=2");
    screen.visit.text_typed(Box::first, "The cat sat on the mat.");
    screen.settle();
    REQUIRE(runs_in(screen.visit).shown());
    CHECK(runs_in(screen.visit).shown()->steps_taken() == 2);
}

TEST_CASE("a network of symbols shows its alphabet when it is open, before and while it reads") {
    CHECK(symbols_told(64) == "| A … Z a … z 53 … 63");
    CHECK(symbols_told(54) == "| A … Z a … z 53");
    CHECK(symbols_told(4) == "| A … C");
    CHECK(symbols_told(3) == "| A B");
    Screen screen;
    screen.open_sentence();
    CHECK_FALSE(screen.shows("sentence/alphabet"));
    screen.page.piece = symbol_name;
    screen.train_some();
    const TrainingRun& run = *runs_in(screen.visit).shown();
    const Files files = hub_files(run, *runs_in(screen.visit).shown_view(course(screen)));
    load_files(screen.visit, "saved", files);
    screen.settle();
    REQUIRE(screen.visit.state().subject == sentence_subject);
    CHECK(screen.shows("sentence/type"));
    CHECK(screen.shows("sentence/alphabet"));
    CHECK(sentence_in(screen.visit).alphabet() ==
          "It reads 64 symbols, with a blank between them: | A … Z a … z 53 … 63");
    screen.visit.text_typed(Box::first, "A B");
    screen.visit.tokens({Box::first, "A B", {1, 2}, {"A", "B"}, 2});
    screen.settle();
    CHECK_FALSE(screen.shows("sentence/type"));
    CHECK(screen.shows("sentence/alphabet"));
}

TEST_CASE("memory kept by training is reported once its tab is left") {
    Screen screen({1440, 900});
    TrainingPlan plan = small(8);
    plan.d_model = 128;
    train(screen, plan, 8);
    const auto told = [&] {
        screen.settle();
        return std::ranges::any_of(ui::semantics(), [](const ui::Node& node) {
            return node.name.find("Training keeps ") != std::string::npos &&
                   node.name.find(" MB") != std::string::npos;
        });
    };
    CHECK(runs_in(screen.visit).bytes() > 1'000'000);
    CHECK_FALSE(told());
    screen.visit.perform(OpenSubject{worked_subject});
    CHECK(told());
}
