// Draws the subject's own part of the page: how training is started and stopped, and what can be done with
// the network.
#include "app/format.hpp"
#include "subjects/training/training.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

bool TrainingSubject::draw_controls(const Drawing&, bool brief) {
    const bool narrow = ui::narrow_window(), settings = !brief && ui::settings();
    if (settings) {
        draw_presets();
        ImGui::Dummy({0, 4});
        draw_settings();
    }
    if (!narrow) ImGui::Dummy({0, 4});
    const TrainingRun* run = runs_.shown();
    draw_transport(run);
    if (const std::string fork = changes_told(now().plan); !fork.empty()) {
        ui::caption(("Forked " + fork + ".").c_str());
        ui::landmark_item("training/fork");
    }
    if (!run) {
        // The presets are below the button that trains them; the picture follows the button.
        if (!brief && !settings) draw_presets();
        const Status text = check_text(now().plan);
        ui::caption(text ? "Press Train to train this network in your browser."
                         : text.error().message.c_str());
        return false;
    }
    if (!narrow) ImGui::Dummy({0, 6});
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
    const std::string more = std::to_string(steps) + " more steps";
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
    ImGui::SameLine(0, 6);
    const Status possible = may_go_on(run);
    if (ui::button("training/step", "Step",
                   possible && now().running ? Error{"Pause first to go step by step."} : possible))
        visit().perform(ShowTrainingStep{taken + 1});
    ImGui::SameLine(0, 6);
    const bool behind = run && now().step && *now().step < taken;
    if (ui::button("training/newest", "Newest", behind ? ok() : Error{"There is no newer step to show."}))
        visit().perform(ShowTrainingStep{now().running ? std::nullopt : std::optional(taken)});
    ui::next_control(ui::need::many_choices);
    if (!ui::narrow_window()) ImGui::AlignTextToFramePadding();  // on a phone it has a line of its own
    std::string told = "step " + std::to_string(taken) + " of " + std::to_string(now().plan.steps);
    if (behind)
        told += "   step " + std::to_string(*now().step) + " is shown";
    else if (run && !run->losses().empty())
        told += "   loss " + fixed(static_cast<double>(run->losses().back()), 3) + " nats over " +
                many(run->targets(), "target");
    {
        ui::Type mono(ui::Face::mono, ui::size_small);
        ui::text_item(told);
        ui::semantic_text(ui::Role::paragraph, told);
    }
    if (run && run->failure()) ui::caption(run->failure()->message.c_str());
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
    ui::next_button("End comparison");
    if (ui::button("training/alone", "End comparison")) visit().perform(CompareTraining{});
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
