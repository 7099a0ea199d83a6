// Draws the controls of the lens, and walks through the decoding.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/catalogue.hpp"
#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::cache {

namespace {

constexpr double walk_ms = 600;

// A slider over whole numbers, which calls take() with a new value.
bool whole_slider(const char* name, const char* label, Index value, Index least, Index most, auto take) {
    return ui::control(ui::need::slider, [&] {
        if (const auto to = ui::slider(name, label, static_cast<double>(value), static_cast<double>(least),
                                       static_cast<double>(most), "%.0f"))
            take(static_cast<Index>(std::lround(*to)));
    });
}

// Changes the value.
void number_stepper(const char* name, const char* label, Index& value, Index least, Index most) {
    ui::control(ui::need::stepper,
                [&] { value = ui::stepper(name, label, value, least, most).value_or(value); });
}

// ---- Controls ---------------------------------------------------------------------------------------------

// Returns whether one was pressed, which may have changed everything.
bool draw_presets(const Drawing& drawing) {
    const ui::Row tries("cache/try", ui::to_try);
    for (const Preset& preset : presets) {
        const auto reads = command_to_read(drawing.visit, preset.text, "");
        if (!reads) continue;
        if (!ui::next_button(preset.name)) continue;
        if (ui::button(("cache/preset/" + std::string(preset.key)).c_str(), preset.name)) {
            drawing.visit.perform(
                Together{{*reads, Set<State>{preset.state}, OpenLens{drawing.state().lens}}});
            return true;
        }
        ui::tooltip(preset.text);
    }
    return false;
}

void draw_cost_controls(const Model& model, State& next) {
    const Cost& cost = model.cost;
    const Index context = std::max<Index>(model.trace->model()->config().context, 2);
    if (whole_slider("cache/prompt", "prompt", cost.prompt, 1, context - 1,
                     [&](Index to) { next.prompt = to; }))
        ui::tooltip("Tokens that are read at once");
    if (context - cost.prompt > 1)
        whole_slider("cache/written", "then write", cost.written, 1, context - cost.prompt,
                     [&](Index to) { next.written = to; });
    ui::control(ui::need::named_choices, [&] {
        ui::label("compared window");
        static constexpr std::array<const char*, 2> names{"its own", "another"};
        if (const auto chosen = ui::choice("cache/window", names, model.state.window > 0 ? 1 : 0))
            next.window = *chosen == 0 ? 0 : std::max<Index>(2, cost.after(cost.written) / 2);
    });
    if (model.state.window > 0) number_stepper("cache/window_of", "keys", next.window, 1, context);
}

// If only one is left, there is nothing to choose.
void draw_prompt(const Model& model, State& next) {
    const Index last = model.trace->tokens() - 1;
    if (last < 2) return;
    if (whole_slider("cache/prompt", "prompt", model.prompt(), 1, last, [&](Index to) { next.prompt = to; }))
        ui::tooltip("Tokens that are read at once, with all of their keys");
}

void draw_bits_controls(State& next) {
    const Index bits = next.rounding.bits;
    ui::control(ui::need::choices, [&] {
        ui::label("bits");
        static constexpr std::array<const char*, 3> names{"16", "8", "4"};
        if (const auto chosen = ui::choice("cache/bits", names, bits == 16 ? 0 : bits == 8 ? 1 : 2))
            next.rounding.bits = bits_offered[static_cast<std::size_t>(*chosen) + 1];
    });
    if (bits != 16) number_stepper("cache/group", "group", next.rounding.group, 2, most_group);
}

void draw_eviction_controls(const Model& model, EvictionRule& next) {
    const Index all = model.trace->tokens();
    const EvictionRule& rule = model.state.eviction;
    ui::control(ui::need::named_choices, [&] {
        ui::label("keep");
        if (const auto chosen = ui::choice("cache/policy", policy_names, static_cast<int>(rule.policy)))
            next.policy = static_cast<EvictionPolicy>(*chosen);
    });
    if (all > 1)
        whole_slider("cache/budget", "keys", std::min(rule.budget, all), 1, all,
                     [&](Index to) { next.budget = to; });
    if (rule.policy == EvictionPolicy::sinks) number_stepper("cache/sinks", "sinks", next.sinks, 0, all);
    if (rule.policy != EvictionPolicy::snapkv) return;
    number_stepper("cache/observed", "queries observed", next.observed, 1, most_observed);
    const Index pooling = rule.pooling;
    ui::control(ui::need::stepper, [&] {
        if (const auto to = ui::stepper("cache/pooling", "pooled over", std::to_string(pooling),
                                        {pooling - 2, pooling > 1 ? "" : "1 is the minimum."},
                                        {pooling + 2, pooling < most_pooling ? "" : "63 is the maximum."},
                                        {static_cast<double>(pooling), 1, static_cast<double>(most_pooling)}))
            next.pooling = *to;
    });
}

// ---- Step by step -----------------------------------------------------------------------------------------

// Goes through the steps by hand, which stops the automatic walk.
void draw_steps(Model& model, const Drawing& drawing) {
    const Index first = model.shown->prompt(), last = model.shown->tokens() - 1, at = model.query;
    const auto leap = [&](Index to) {
        model.walk.reset();
        go(model, drawing, to, ui::gesture());
    };
    ui::control(ui::need::choices, [&] {
        if (ui::button("cache/back", "Back", at > first)) leap(at - 1);
        ImGui::SameLine(0, 6);
        if (ui::button("cache/forward", "Forward", at < last)) leap(at + 1);
        ImGui::SameLine(0, 6);
        if (!ui::button("cache/play", model.walk ? "Pause" : "Play", {"Play", "Pause"},
                        last > first ? ok() : Status(Error{"There is only one step."})))
            return;
        if (model.walk) return model.walk.reset();
        model.walk = {ui::gesture(), now_ms() + (at == last ? walk_ms : 0)};
        if (at == last) go(model, drawing, first, model.walk->gesture);
    });
    if (last > first)
        whole_slider("cache/step", "step", at - first + 1, 1, last - first + 1,
                     [&](Index to) { leap(first + to - 1); });
}

void walk(Model& model, const Drawing& drawing) {
    if (!model.walk || !model.shown) return;
    const double time = now_ms();
    if (time >= model.walk->next_ms) {
        const Index at = model.query, last = model.shown->tokens() - 1;
        if (at < last) go(model, drawing, at + 1, model.walk->gesture);
        if (at + 1 >= last) return model.walk.reset();
        model.walk->next_ms = time + walk_ms;
    }
    drawing.visit.continue_at(model.walk->next_ms);
}

void draw_controls(Model& model, const Drawing& drawing) {
    if (draw_presets(drawing)) return;
    const ui::Row row("cache/settings");
    State next = model.state;
    if (const auto chosen =
            ui::labelled_choice("show", "cache/part", part_names, static_cast<int>(next.part)))
        next.part = static_cast<Part>(*chosen);
    // The steps come first: the hint is about them.
    if (model.state.part != Part::cost && model.shown) draw_steps(model, drawing);
    switch (model.state.part) {
        case Part::cost: draw_cost_controls(model, next); break;
        case Part::bits: draw_bits_controls(next); break;
        case Part::eviction: draw_eviction_controls(model, next.eviction); break;
    }
    if (model.state.part != Part::cost) draw_prompt(model, next);
    set(drawing, next);
}

}  // namespace

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

void go(const Model& model, const Drawing& drawing, Index query, std::uint64_t gesture) {
    Selection selection = selection_of(drawing);
    if (model.trace->attention(selection.layer).place.kind == AttentionKind::encoder) {
        selection.layer = model.on_page(model.head).layer;
        selection.key.reset();
    }
    selection.query = query;
    drawing.visit.perform(Select{selection}, gesture);
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    while (!drawing.deadline.passed() && model.step()) continue;
    walk(model, drawing);
    ui::hint(model.state.part == Part::cost
                 ? "Make the prompt longer, or click a cell to compare another cache with this model’s."
             : model.state.part == Part::bits
                 ? "Choose 8 bits, then 4: the fewer bits, the farther the next token moves."
                 : "Press Play: each step sees the keys that are left. Then choose another policy, or "
                   "fewer keys.");
    if (ui::settings()) draw_controls(model, drawing);
    // A preset may have requested another model.
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    if (model.state.part == Part::cost)
        draw_cost(model, drawing);
    else if (model.refused.empty())
        draw_decoded(model, drawing, subject);
    if (model.step())
        drawing.visit.continue_with([&model, &subject, trace = model.trace] {
            return subject.attention() && subject.attention()->trace() == trace && model.trace == trace &&
                   model.step();
        });
}

}  // namespace attn::app::cache
