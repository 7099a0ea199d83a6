#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::memory {

double four_digits(double value) { return std::strtod(significant(value, 4).c_str(), nullptr); }

void set(const Model& model, const Drawing& drawing, const State& wanted) {
    if (wanted != model.state) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

namespace {

constexpr float left_share = 0.5f, energy_height = 236, moves_height = 230;

void draw_beta(const Model& model, const Drawing& drawing) {
    State wanted = model.state;
    const double low = std::min(least_beta, model.own_beta > 0 ? model.own_beta : least_beta),
                 high = std::max(most_beta, model.own_beta), shown = model.beta.value_or(least_beta);
    ui::control(ui::need::slider, [&] {
        if (const auto to =
                ui::slider("memory/beta", "β", std::clamp(shown, low, high), low, high, "%.4g", true))
            wanted.beta = std::clamp(four_digits(*to), least_beta, most_beta);
    });
    ui::control(ui::need::stepper, [&] {
        ui::label("β =");
        if (const auto typed =
                ui::number_field("memory/beta-typed", "β as a number", shown, "%.4g", ui::number_width))
            wanted.beta = *typed;
        ImGui::SameLine(0, 6);
        const Status possible = model.state.beta ? ok() : Error{"This is the head’s own β."};
        if (ui::button("memory/own", "the head’s own", possible)) wanted.beta.reset();
    });
    set(model, drawing, wanted);
}

void draw_controls(Model& model, const Drawing& drawing, Subject& subject) {
    static constexpr std::array<const char*, 2> networks{"modern network", "classical network"};
    static constexpr std::array<const char*, 2> planes{"principal components", "query and strongest key"};
    State wanted = model.state;
    std::vector<const char*> names;
    int taken = -1;
    const auto offered = presets(model.state.network);
    for (const Preset& preset : offered) {
        if (preset.make(model.state) == model.state) taken = static_cast<int>(names.size());
        names.push_back(preset.name);
    }
    {
        const ui::Row tries("memory/try", ui::to_try);
        ui::control(ui::need::named_choices, [&] {
            if (const auto chosen = ui::choice("memory/preset", names, taken))
                wanted = offered[static_cast<std::size_t>(*chosen)].make(model.state);
        });
    }
    set(model, drawing, wanted);
    model.update(drawing.visit, subject);
    const ui::Row row("memory/settings");
    wanted = model.state;
    if (const auto chosen = ui::choice("memory/network", networks, static_cast<int>(wanted.network)))
        wanted.network = static_cast<Network>(*chosen);
    set(model, drawing, wanted);
    model.update(drawing.visit, subject);
    const bool modern = !model.is_classical();
    draw_beta(model, drawing);
    model.update(drawing.visit, subject);
    const Attention& attention = *subject.attention();
    if (attention.queries() > 1 && (modern || model.state.of_keys)) {
        ui::control(ui::need::stepper, [&] {
            const Index last = attention.queries() - 1;
            if (const auto query = ui::stepper(
                    "memory/query", "query", label_at(attention.query_names(), model.row.query),
                    {model.row.query - 1, model.row.query > 0 ? "" : "This is the first query."},
                    {model.row.query + 1, model.row.query < last ? "" : "This is the last query."}))
                parts::choose_tokens(drawing, *query, selection_of(drawing).key);
        });
    }
    if (!modern) return;
    wanted = model.state;
    if (ui::next_control(ui::need::named_choices))
        if (const auto chosen =
                ui::labelled_choice("plane", "memory/plane-of", planes, static_cast<int>(wanted.plane))) {
            wanted.plane = static_cast<Plane>(*chosen);
            wanted.start.reset();  // in another plane, the same coordinates would be another start
        }
    const Status possible = model.state.start ? ok() : Error{"It starts at the query."};
    if (ui::next_control(ui::need::long_button) && ui::button("memory/at-query", "Start at q", possible))
        wanted.start.reset();
    set(model, drawing, wanted);
}

void draw_end(const Model& model, Subject& subject) {
    const Retrieval& path = *model.path();
    std::string text;
    if (path.done() && path.settled()) {
        const double first = path.steps() > 0 ? path.points()[1].moved : 0;
        text = "It ends at " + mostly(model, subject, path.weights()) + ": " +
               fixed(effective_patterns(path.weights()), 2) + " of " +
               many(model.patterns()->count(), "key") + ". The first step moves it by " + fixed(first, 3) +
               ", all of them by " + fixed(path.travelled(), 3) + ". ";
    }
    const auto off = model.off_attention();
    const AttentionSpec& spec = model.row.record->spec();
    if (off && (spec.softcap > 0 || !spec.bias.empty()))
        text +=
            "This head caps its scores or adds to them, so the weights of its attention differ from the "
            "first step’s by " +
            fixed(*off, 2) + ".";
    else if (off)
        text += "The first step’s weights are the head’s attention, to " + fixed(*off, 1) +
                ". The head reads V in the place of K at that step, and stops.";
    else if (!model.state.start)
        text += "The head’s own β is " + fixed(model.own_beta, 4) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("memory/end");
}

void draw_path(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Retrieval& path = *model.path();
    ui::ChartCurve curve{.name = "E", .colour = ui::series_colour(0), .points = path.steps() <= 40};
    for (Index t = 0; t < path.looked_at(); ++t) {
        curve.add(static_cast<double>(t), path.points()[static_cast<std::size_t>(t)].energy);
    }
    const std::array curves{curve};
    const ui::Chart chart{
        .name = "memory-energy",
        .title = "Energy, step by step",
        .x = {"step", 0, static_cast<double>(std::max<Index>(path.steps(), 1)), false, true},
        .y = ui::fitted("energy, in units of q · k", curves, false)};
    present::chart(drawing, chart, width, energy_height, curves,
                   [](std::size_t, std::size_t step) { return cells::energy(step); });
    present::sheet(drawing, path_sheet(model, subject), width);
    draw_end(model, subject);
}

void draw_moves(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    const QueryMoves* moves = model.moves.kept();
    if (!moves || attention.queries() < 2) return;
    const bool points = moves->count() <= 64;
    ui::ChartCurve first{.name = "one step", .colour = ui::series_colour(0), .points = points},
        all{.name = "all steps", .colour = ui::series_colour(1), .points = points};
    for (const QueryMoves::Row& row : moves->rows()) {
        for (ui::ChartCurve* curve : {&first, &all}) {
            curve->x.push_back(static_cast<double>(row.query));
            curve->notes.push_back(label_at(attention.query_names(), row.query) + " ends at " +
                                   fixed(row.effective, 1) + " of " + many(row.patterns, "key"));
        }
        first.y.push_back(row.first);
        all.y.push_back(row.all);
    }
    const std::array curves{first, all};
    const ui::Chart chart{.name = "memory-moves",
                          .title = "How far this head’s queries move",
                          .x = {"query", 0, static_cast<double>(attention.queries() - 1), false, true},
                          .y = ui::fitted("distance from q", curves, true),
                          .marked = static_cast<double>(model.row.query)};
    const ui::ChartReply reply = present::chart(drawing, chart, width, moves_height, curves,
                                                [&](std::size_t curve, std::size_t point) {
                                                    return cells::distance(curve, moves->rows()[point].query);
                                                });
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != model.row.query)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    std::string text;
    if (moves->count() < attention.queries())
        text = "Over " + std::to_string(moves->count()) + " of " + many(attention.queries(), "query row") +
               ", evenly chosen. ";
    if (!moves->done()) text += std::to_string(moves->rows().size()) + " are followed so far.";
    if (!text.empty()) ui::caption(text.c_str());
}

void draw_modern(Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (!model.refused.empty() || !model.refused_beta.empty()) {
        ui::paragraph(model.refused.empty() ? model.refused_beta : model.refused, ui::theme().text);
        ui::landmark_item("memory/refused");
        if (model.refused.empty()) return;
    } else {
        const bool beside = width >= ui::two_columns;
        const float left = beside ? std::floor((width - present::card_gap) * left_share) : width;
        ui::column("plane", left, [&](float w) { draw_plane(model, drawing, subject, w); });
        model.update(drawing.visit, subject);
        if (model.path() && model.path()->looked_at() > 0) {
            if (beside) ImGui::SameLine(0, present::card_gap);
            ui::column("path", beside ? width - left - present::card_gap : width,
                       [&](float w) { draw_path(model, drawing, subject, w); });
            if (model.path()->steps() > 0)
                present::sheet(drawing, weights_sheet(model, subject), width);
            else
                ui::caption("The start is a fixed point already, so there is no step to show.");
            if (const auto& cell = drawing.now.cell; cell && cell->is(cells::weight))
                drawing.point(model.row.query, cell->own()->at[1]);
            present::sheet(drawing, states_sheet(model, subject), width);
        }
    }
    draw_moves(model, drawing, subject, width);
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(model.is_classical()
                 ? "Flip more of the cue’s bits, or store more patterns, until the pattern is lost."
                 : "Press “β = 100” and drag the start through the plane: it falls to the memory in whose "
                   "basin it lies.");
    if (ui::settings()) draw_controls(model, drawing, subject);
    model.update(drawing.visit, subject);
    // With more patterns, a step takes longer than a frame may, so it is left to the work between frames.
    const bool brief = !model.patterns() ||
                       look_cost(model.patterns()->count(), model.patterns()->components) <= look_work_a_step;
    while (brief && model.pending() && !drawing.deadline.passed()) model.step();
    model.update(drawing.visit, subject);
    if (model.is_classical())
        draw_classical(model, drawing, subject);
    else
        draw_modern(model, drawing, subject, ImGui::GetContentRegionAvail().x);
    if (model.pending())
        drawing.visit.continue_with([&model, row = model.row, state = model.state] {
            return model.row == row && model.state == state && model.row.record && model.step();
        });
}

}  // namespace attn::app::memory
