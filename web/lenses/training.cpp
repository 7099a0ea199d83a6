// Lens Training: a small network learns in the page, and every step of it can be gone back to.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/lens.hpp"
#include "lenses/training_maps.hpp"
#include "lenses/training_settings.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/plot.hpp"

namespace attn::lenses {

namespace {

using app::Session;
using app::TrainingPlan;
using app::TrainingRun;
using app::TrainingState;

constexpr float wide_enough = 720, plot_height = 128;

void transport(Session& session, const TrainingState& state, const TrainingRun* run) {
    const std::int64_t taken = run ? run->steps_taken() : 0;
    const bool finished = run && run->finished();
    if (state.running && !finished) {
        if (ui::button("training/pause", "Pause")) {
            session.perform(app::RunTraining{false});
            session.perform(app::ShowTrainingStep{taken});
        }
    } else if (ui::button("training/train", taken == 0 ? "Train" : "Go on", !finished)) {
        session.perform(app::ShowTrainingStep{std::nullopt});
        session.perform(app::RunTraining{true});
    }
    ImGui::SameLine(0, 6);
    if (ui::button("training/step", "Step", !state.running && !finished))
        session.perform(app::ShowTrainingStep{taken + 1});
    ImGui::SameLine(0, 6);
    if (ui::button("training/newest", "Newest", run && state.step && *state.step < taken))
        session.perform(app::ShowTrainingStep{state.running ? std::nullopt : std::optional(taken)});
    ui::next_control(220);
    ImGui::AlignTextToFramePadding();
    ui::Type mono(ui::Face::mono, ui::size_small);
    std::string told = "step " + std::to_string(taken) + " of " + std::to_string(state.plan.steps);
    if (run && !run->losses().empty())
        told += "   loss " + app::fixed(static_cast<double>(run->losses().back()), 3);
    ImGui::TextUnformatted(told.c_str());
    if (run && run->failure()) ui::caption(run->failure()->message.c_str());
}

ui::Curve loss_curve(const TrainingRun& run, bool compared) {
    ui::Curve curve;
    curve.name = compared ? "compared" : "loss";
    curve.dashed = compared;
    curve.colour = ui::series_colour(compared ? 1 : 0);
    for (std::size_t i = 0; i < run.losses().size(); ++i) {
        curve.steps.push_back(static_cast<std::int64_t>(i + 1));
        curve.values.push_back(run.losses()[i]);
    }
    return curve;
}

// One curve a head.
std::vector<ui::Curve> head_curves(const TrainingRun& run, double app::HeadPoint::* score, bool compared) {
    std::vector<ui::Curve> curves(static_cast<std::size_t>(run.plan().layers * run.plan().heads));
    for (std::size_t head = 0; head < curves.size(); ++head) {
        ui::Curve& curve = curves[head];
        const auto heads = static_cast<std::size_t>(run.plan().heads);
        curve.colour = ui::series_colour(head);
        curve.dashed = compared;
        if (!compared) curve.name = std::to_string(head / heads) + "." + std::to_string(head % heads);
        for (const app::TrainingPoint& point : run.points()) {
            curve.steps.push_back(point.step);
            curve.values.push_back(static_cast<float>(point.heads[head].*score));
        }
    }
    return curves;
}

void curves(Session& session, const TrainingState& state, const TrainingRun& run, const TrainingRun* compared,
            std::int64_t shown, float width) {
    const auto drawn = [&](const char* name, const char* title, float high, std::vector<ui::Curve> lines,
                           const char* format = "%.2f") {
        const ui::Plot plot{.name = name,
                            .title = title,
                            .steps = state.plan.steps,
                            .high = high,
                            .format = format,
                            .marked = shown};
        if (const auto step = ui::plot(plot, width, plot_height, lines))
            session.perform(app::ShowTrainingStep{std::min(*step, run.steps_taken())});
    };
    std::vector<ui::Curve> losses;
    if (compared) losses.push_back(loss_curve(*compared, true));
    losses.push_back(loss_curve(run, false));
    float most = 0.1f;
    for (const float loss : run.losses()) most = std::max(most, loss);
    drawn("loss", "Loss", std::ceil(most * 10) / 10, std::move(losses), "%.3f");

    const auto both = [&](double app::HeadPoint::* score) {
        std::vector<ui::Curve> lines = head_curves(run, score, false);
        if (compared && compared->plan().heads == run.plan().heads &&
            compared->plan().layers == run.plan().layers)
            std::ranges::move(head_curves(*compared, score, true), std::back_inserter(lines));
        return lines;
    };
    if (!run.data().repeated.empty())
        drawn("induction", "Induction, by head", 1, both(&app::HeadPoint::induction));
    drawn("previous", "Previous token, by head", 1, both(&app::HeadPoint::previous_token));
    std::vector<ui::Curve> entropies = both(&app::HeadPoint::entropy);
    float largest = 0.1f;
    for (const ui::Curve& curve : entropies)
        for (const float value : curve.values) largest = std::max(largest, value);
    drawn("entropy", "Entropy in nats, by head", std::ceil(largest * 2) / 2, std::move(entropies));
}

// What can be done with the network of the step that is shown.
void uses(Session& session, const TrainingRun& run, const app::TrainingView& view) {
    if (ui::button("training/open", "Open in Sentence")) session.open_trained(run, view);
    ui::tooltip("Its heads one by one, on a text of yours");
    ImGui::SameLine(0, 6);
    if (ui::button("training/save", "Save")) session.save_trained(run, view);
    ui::tooltip(
        "As on a model hub, in a .zip: config.json, model.safetensors, tokenizer.json and a card. Dropped "
        "onto "
        "this page, its folder opens.");
}

// What can be done from the step that is shown.
void branches(Session& session, const TrainingState& state, const TrainingRun& run, std::int64_t shown) {
    const app::TrainingValues now = run.plan().values_at(shown);
    const std::string from = "From step " + std::to_string(shown) + ":";
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(from.c_str());
    ImGui::SameLine(0, 10);
    const auto fork = [&](auto change) {
        app::TrainingValues values = now;
        change(values);
        session.perform(app::ForkTraining{shown, values});
    };
    if (ui::button("training/slower", "rate ÷ 3")) fork([](app::TrainingValues& v) { v.rate /= 3; });
    ImGui::SameLine(0, 6);
    if (ui::button("training/faster", "rate × 3")) fork([](app::TrainingValues& v) { v.rate *= 3; });
    ui::next_control(150);
    if (ui::button("training/other-data", "other sequences")) fork([](app::TrainingValues& v) { ++v.seed; });
    ui::next_control(150);
    if (state.compared) {
        if (ui::button("training/alone", "End comparison"))
            session.perform(app::CompareTraining{std::nullopt});
    } else if (ui::button("training/compare", "Keep to compare")) {
        session.perform(app::CompareTraining{state.plan});
    }
}

}  // namespace

void training(Session& session, Hover&) {
    const TrainingState& state = session.state().training;
    ui::heading("Watch attention being learned");
    training_settings(session);
    ImGui::Dummy({0, 4});
    app::TrainingRuns& runs = session.training();
    const TrainingRun* run = runs.shown();
    transport(session, state, run);
    if (!run) {
        ui::caption(
            "A network of these sizes is trained here, in this page, from random weights. Press Train.");
        return;
    }

    const std::int64_t shown = run->shown_step(state.step.value_or(run->steps_taken()));
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= wide_enough;
    const float left = beside ? std::floor(width * 0.52f) : width;
    ImGui::Dummy({0, 6});
    ImGui::BeginGroup();
    curves(session, state, *run, runs.compared(), shown, left);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(0, 24);
    ImGui::BeginGroup();
    if (const app::TrainingView* view = runs.shown_view(state)) {
        const float room = beside ? width - left - 24 : width;
        if (const auto head = training_maps(session, *run, *view, room)) {
            app::TrainingValues values = run->plan().values_at(shown);
            const auto found = std::ranges::find(values.ablated, *head);
            found == values.ablated.end() ? values.ablated.push_back(*head)
                                          : static_cast<void>(values.ablated.erase(found));
            session.perform(app::ForkTraining{shown, values});
        }
        ImGui::Dummy({0, 6});
        uses(session, *run, *view);
    }
    ImGui::Dummy({0, 6});
    branches(session, state, *run, shown);
    ImGui::EndGroup();
}

}  // namespace attn::lenses
