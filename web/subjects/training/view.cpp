// Draws the subject's own part of the page: how training is started and stopped, and what can be done with
// the network.
#include <algorithm>
#include <string>

#include "app/format.hpp"
#include "subjects/training/training.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float step_gap = 6;

std::string more_steps(const TrainingPlan& plan) { return std::to_string(plan.steps) + " more steps"; }

// Returns the width of the buttons that continue the run, step by step, and show its newest step.
float transport_width(const TrainingPlan& plan) {
    float go = ui::text_size(more_steps(plan)).x;
    for (const char* label : {"Train", "Continue", "Pause"}) go = std::max(go, ui::text_size(label).x);
    return go + ui::text_size("Step").x + ui::text_size("Newest").x + 6 * ImGui::GetStyle().FramePadding.x +
           2 * step_gap;
}

void mono_line(const std::string& text) {
    const ui::Type mono(ui::Face::mono, ui::size_small);
    ui::text_item(text);
    ui::semantic_text(ui::Role::paragraph, text);
}

}  // namespace

bool TrainingSubject::draw_controls(const Drawing&, bool brief) {
    const bool narrow = ui::narrow_window(), settings = !brief && ui::settings();
    const TrainingRun* run = runs_.shown();
    if (ui::folded().subject && !brief) mono_line(told(run));
    if (settings) {
        draw_presets();
        draw_settings();
    }
    if (!ui::folded().subject) {
        if (settings && narrow) ImGui::Dummy({0, 4});
        draw_transport(run);
        ui::next_control(ui::need::many_choices);
        if (!narrow) ImGui::AlignTextToFramePadding();  // on a phone it has a line of its own
        mono_line(told(run));
    }
    if (run && run->failure()) ui::caption(run->failure()->message.c_str());
    if (const std::string fork = changes_told(now().plan); !fork.empty()) {
        ui::caption(("Forked " + fork + ".").c_str());
        ui::landmark_item("training/fork");
    }
    if (run) return true;
    // The presets are below the button that trains them; the picture follows the button.
    if (!brief && !settings) draw_presets();
    const Status text = check_text(now().plan);
    ui::caption(text ? "Press Train to train this network in your browser." : text.error().message.c_str());
    return false;
}

bool TrainingSubject::draw_in_tabs(const Drawing&, bool brief, float width) {
    const float least = transport_width(now().plan);
    if (width < least) return false;
    const TrainingRun* run = runs_.shown();
    draw_transport(run);
    const std::string step = "step " + std::to_string(run ? run->steps_taken() : 0);
    const ui::Type mono(ui::Face::mono, ui::size_small);
    if (!brief || width < least + 2 * step_gap + ui::text_size(step).x) return true;
    ImGui::SameLine(0, 2 * step_gap);
    ImGui::AlignTextToFramePadding();
    mono_line(step);
    ui::tooltip(told(run).c_str());
    return true;
}

Status TrainingSubject::may_go_on(const TrainingRun* run) const {
    if (run && run->failure()) return *run->failure();
    const std::int64_t steps = now().plan.steps;
    if (run && run->steps_taken() == steps)
        return Error{"The run has taken all of its " + std::to_string(steps) + " steps: add more first."};
    return check_text(now().plan);
}

// Draws the single button that continues or pauses the run.
void TrainingSubject::draw_go(const TrainingRun* run) {
    const std::int64_t taken = run ? run->steps_taken() : 0, steps = now().plan.steps;
    const auto go = [&] {
        visit().perform(ShowTrainingStep{}, ui::gesture());
        visit().perform(RunTraining{true}, ui::gesture());
    };
    const std::string more = more_steps(now().plan);
    const auto pressed = [&](const char* landmark, const char* label, const Status& possible) {
        const bool one =
            ui::button("training/go", label, {"Train", "Continue", "Pause", more.c_str()}, possible);
        ui::landmark_item(landmark);
        return one;
    };
    if (run && !run->failure() && taken == steps) {
        TrainingPlan longer = now().plan;
        longer.steps *= 2;
        if (!pressed("training/extend", more.c_str(), check(longer))) return;
        visit().perform(SetTrainingPlan{longer});
        return go();
    }
    const Status possible = may_go_on(run);
    if (!now().running || !possible) {
        if (pressed("training/train", taken == 0 ? "Train" : "Continue", possible)) go();
    } else if (pressed("training/pause", "Pause", ok())) {
        visit().perform(RunTraining{false}, ui::gesture());
        visit().perform(ShowTrainingStep{taken}, ui::gesture());
    }
}

void TrainingSubject::draw_transport(const TrainingRun* run) {
    const std::int64_t taken = run ? run->steps_taken() : 0;
    draw_go(run);
    ImGui::SameLine(0, step_gap);
    const Status possible = may_go_on(run);
    if (ui::button("training/step", "Step",
                   possible && now().running ? Error{"Pause first to go step by step."} : possible))
        visit().perform(ShowTrainingStep{taken + 1});
    ImGui::SameLine(0, step_gap);
    if (ui::button("training/newest", "Newest",
                   is_behind(run) ? ok() : Error{"There is no newer step to show."}))
        visit().perform(ShowTrainingStep{now().running ? std::nullopt : std::optional(taken)});
}

bool TrainingSubject::is_behind(const TrainingRun* run) const {
    return run && now().step && *now().step < run->steps_taken();
}

// Says how far the run is.
std::string TrainingSubject::told(const TrainingRun* run) const {
    const std::int64_t taken = run ? run->steps_taken() : 0;
    std::string text = "step " + std::to_string(taken) + " of " + std::to_string(now().plan.steps);
    if (is_behind(run)) return text + "   step " + std::to_string(*now().step) + " is shown";
    if (!run || run->losses().empty()) return text;
    return text + "   loss " + fixed(static_cast<double>(run->losses().back()), 3) + " nats over " +
           many(run->targets(), "target");
}

// Offers what can be done with the network at the shown step.
void TrainingSubject::draw_beside(const Drawing&, float /*width*/) {
    const TrainingRun* run = runs_.shown();
    const TrainingView* view = runs_.shown_view(now());
    if (!run || !view) return;
    const bool opened = ui::button("training/open", "Open in Sentence");
    ui::tooltip("Look at its heads one by one, on a text of your own.");
    ImGui::SameLine(0, 6);
    const bool saved = ui::button("training/save", "Save");
    ui::tooltip(
        "Save it as a .zip, laid out as on a model hub: config.json, model.safetensors, tokenizer.json and a "
        "model card. Drop it onto this page to open it again.");
    if (opened) open_network(*run, *view);
    if (saved) save_network(*run, *view);
}

void TrainingSubject::draw_comparison(const Drawing&) {
    if (ui::next_button("End comparison") && ui::button("training/alone", "End comparison"))
        visit().perform(CompareTraining{});
}

std::pair<std::string, std::string> TrainingSubject::comparison_names() {
    const auto named = [](const TrainingRun* run, const TrainingView* view) {
        if (!run || !view) return std::string();
        const std::string fork = changes_told(run->plan());
        return name_of(TrainedHere{run->plan(), view->step}) + (fork.empty() ? "" : ", " + fork);
    };
    return {named(runs_.shown(), runs_.shown_view(now())),
            named(runs_.compared(), runs_.compared_view(now()))};
}

}  // namespace attn::app
