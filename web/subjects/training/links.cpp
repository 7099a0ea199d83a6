// Writes a network in training into links: the plan of its run, which determines the run, and the step that
// is shown.
#include "app/link_text.hpp"
#include "app/looks.hpp"
#include "subjects/training/training.hpp"

namespace attn::app {

namespace {

void prune(State& state) {
    if (!fits_into_a_link(training_of(state).plan.text)) state.edit<TrainingState>().plan.text.clear();
    if (const auto& other = training_of(state).compared; other && !fits_into_a_link(other->text))
        state.edit<TrainingState>().compared->text.clear();
}

constexpr LinkRow training_rows[] = {
    {"train", "the plan of a training run, as induction,layers:3",
     [](State& s, const std::string& value) {
         const auto plan = parse_training_plan(value);
         return plan && take(s, SetTrainingPlan{*plan});
     },
     [](const State& s, const State&) { return unless_initial(training_of(s).plan, to_text); }},
    {"versus", "the plan of a training run to compare with",
     [](State& s, const std::string& value) {
         const auto plan = parse_training_plan(value);
         return plan && take(s, CompareTraining{plan});
     },
     [](const State& s, const State&) {
         return training_of(s).compared ? std::optional(to_text(*training_of(s).compared)) : std::nullopt;
     }},
    {"step", "a step of the training run",
     [](State& s, const std::string& value) {
         const auto step = read_integer<std::int64_t>(value);
         return step && take(s, ShowTrainingStep{step});
     },
     [](const State& s, const State&) {
         return training_of(s).step ? std::optional(std::to_string(*training_of(s).step)) : std::nullopt;
     }},
    {"training", "on",
     [](State& s, const std::string& value) { return value == "on" && take(s, RunTraining{true}); },
     [](const State& s, const State&) {
         return training_of(s).running ? std::optional<std::string>("on") : std::nullopt;
     }},
};

struct LooksKeys {
    static constexpr std::string_view subject = training_subject, map = "training.map",
                                      heads = "training.heads", flow = "training.flow",
                                      bookmarks = "training.places", window = "training.window",
                                      marked = "training.marked", spans = "training.spans";
};
constexpr auto all_rows = joined(training_rows, LooksRows<LooksKeys>::rows);

}  // namespace

LinkRows training_links() { return {.rows = all_rows, .prune = prune}; }

}  // namespace attn::app
