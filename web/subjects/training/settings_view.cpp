// Draws the settings of a training: the presets, and changes to the network and its training.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "subjects/training/training.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr const char* row_key = "training/settings";

// − and + go as far as check() allows; beyond that, they show its message.
class Settings {
  public:
    explicit Settings(Visit& visit) : visit_(visit), bare_(plan()) { bare_.text.clear(); }

    const TrainingPlan& plan() const { return training_of(visit_.state()).plan; }
    void change(auto how) { visit_.perform(SetTrainingPlan{changed(plan(), how)}, ui::gesture()); }

    // Places controls on lines that break at this width.
    void place(float width, auto draw) {
        const bool shown = first_ || ui::next_control(width);
        first_ = false;
        if (!shown) return;
        ImGui::BeginGroup();
        draw();
        ImGui::EndGroup();
    }

    void stepper(const char* name, const char* label, const std::string& shown, Index less, Index more,
                 auto how) {
        const auto with = [&](Index value) { return [&, value](TrainingPlan& p) { how(p, value); }; };
        const auto lead = [&](Index value) {
            const Status sound = check(changed(bare_, with(value)));
            return ui::Lead{value, sound ? "" : sound.error().message};
        };
        place(ui::narrow_window() ? ui::need::stepper : ui::need::short_stepper, [&] {
            if (const auto value = ui::stepper(name, label, shown, lead(less), lead(more)))
                change(with(*value));
        });
    }
    void by_ones(const char* name, const char* label, Index value, auto how) {
        stepper(name, label, std::to_string(value), value - 1, value + 1, how);
    }
    void by_halves_and_doubles(const char* name, const char* label, Index value, auto how) {
        stepper(name, label, std::to_string(value), value / 2, value * 2, how);
    }

  private:
    // The changes of a fork apply only to this network and these sequences, so they are dropped.
    static TrainingPlan changed(const TrainingPlan& from, auto how) {
        TrainingPlan plan = from;
        how(plan);
        if (common_steps(from, plan) == 0) plan.changes.clear();
        return plan;
    }

    Visit& visit_;
    TrainingPlan bare_;  // the plan without its text
    bool first_ = true;
};

void set_heads(TrainingPlan& plan, Index heads) {
    plan.heads = heads;
    if (heads < 1) return;
    const Index unit = 2 * heads;
    plan.d_model = std::min((plan.d_model + unit - 1) / unit * unit, training_width_limit / unit * unit);
}

void usual(Settings& settings) {
    const TrainingPlan& plan = settings.plan();
    settings.by_ones("training/layers", "layers", plan.layers,
                     [](TrainingPlan& p, Index layers) { p.layers = layers; });
    settings.by_ones("training/heads", "heads", plan.heads, set_heads);
    settings.place(ui::narrow_window() ? ui::need::stepper : ui::need::short_stepper, [&] {
        if (const auto seed = ui::stepper("training/seed", "seed", static_cast<Index>(plan.seed), 1, 999))
            settings.change(
                [&](TrainingPlan& p) { p.seed = p.values.seed = static_cast<std::uint64_t>(*seed); });
    });
    settings.place(ui::need::slider, [&] {
        if (const auto rate = ui::slider("training/rate", "learning rate", plan.last_values().rate, 1e-4, 0.1,
                                         "%.4f", true))
            settings.change([&](TrainingPlan& p) { p.last_values().rate = *rate; });
    });
}

// None, 0, is the widest window; half the context is the next one down.
void window(Settings& settings) {
    const TrainingPlan& plan = settings.plan();
    const Index keys = plan.last_values().window;
    const auto set = [](TrainingPlan& p, Index window) { p.last_values().window = window; };
    if (keys == 0)
        settings.stepper("training/window", "window", "all", plan.context / 2, plan.context + 1, set);
    else
        settings.stepper("training/window", "window", std::to_string(keys), keys > 1 ? keys / 2 : -1,
                         2 * keys < plan.context ? 2 * keys : 0, set);
}

void rarer(Settings& settings) {
    const TrainingPlan& plan = settings.plan();
    // Heads need an even size; the width changes in steps of about 8.
    const Index unit = 2 * plan.heads, step = (8 + unit - 1) / unit * unit;
    settings.stepper("training/width", "d_model", std::to_string(plan.d_model), plan.d_model - step,
                     plan.d_model + step, [](TrainingPlan& p, Index width) { p.d_model = width; });
    settings.by_halves_and_doubles("training/vocabulary", "vocabulary", plan.vocabulary,
                                   [](TrainingPlan& p, Index tokens) { p.vocabulary = tokens; });
    settings.by_halves_and_doubles("training/context", "context", plan.context,
                                   [](TrainingPlan& p, Index tokens) {
                                       p.context = tokens;
                                       p.values.window = std::min(p.values.window, tokens);
                                   });
    settings.by_halves_and_doubles("training/batch", "batch", plan.batch,
                                   [](TrainingPlan& p, Index sequences) { p.batch = sequences; });
    settings.by_halves_and_doubles("training/steps", "steps", static_cast<Index>(plan.steps),
                                   [](TrainingPlan& p, Index steps) { p.steps = steps; });
    window(settings);
    settings.place(ui::need::stepper, [&] {
        ui::label("MLP");
        if (const auto mlp = ui::choice("training/mlp", std::array{"off", "on"}, plan.mlp ? 1 : 0))
            settings.change([&](TrainingPlan& p) { p.mlp = *mlp == 1; });
    });
}

}  // namespace

// The preset stays highlighted while its settings are changed and its text is written.
void TrainingSubject::draw_presets() {
    const auto all = training_presets();
    const TrainingPreset& taken = nearest_preset(now().plan);
    const bool narrow = ui::narrow_window();
    std::vector<std::string> titles;
    std::vector<const char*> labels;
    for (const TrainingPreset& preset : all) titles.emplace_back(preset.title);
    for (const std::string& title : titles) labels.push_back(title.c_str());
    const auto draw_choice = [&] {
        const ui::Row tries("training/try", ui::to_try);
        if (!narrow) ui::next_control(ui::need::named_choices);
        if (const auto chosen = ui::choice("training/preset", labels, static_cast<int>(&taken - all.data())))
            visit().perform(SetTrainingPlan{all[static_cast<std::size_t>(*chosen)].plan});
    };
    if (narrow) draw_choice();
    narrow ? ui::caption(std::string(taken.story).c_str()) : ui::hint(std::string(taken.story).c_str());
    if (now().plan.task == TrainingTask::own_text) {
        ui::caption(
            reads_bytes(now().plan)
                ? "A text of fewer than 4,000 bytes is read byte by byte: each token is one byte, which is a "
                  "whole letter in English, but only half of é or я."
                : "Each token is a piece that is common in this text, often a word; the pieces are learned "
                  "before the training begins.");
        ui::landmark_item("training/tokens");
    }
    if (!narrow) draw_choice();
}

void TrainingSubject::draw_settings() {
    Settings settings(visit());
    {
        const ui::Row row(row_key);
        usual(settings);
        rarer(settings);
    }
    if (ui::narrow_window() || ui::folded().rows.contains(row_key))
        ui::caption(
            "d_model: components per token. Context: tokens per sequence. Batch: sequences per step. Window: "
            "keys that a query can see, its own included.");
}

}  // namespace attn::app
