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

namespace attn::app {

namespace {

constexpr float left_share = 0.5f, energy_height = 236, moves_height = 230;

}  // namespace

double four_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return std::strtod(text, nullptr);
}

void MemoryLens::set(MemoryState wanted) const {
    if (wanted != now()) visit().perform(SetMemory{wanted}, ui::gesture());
}

void MemoryLens::draw_beta() {
    MemoryState wanted = now();
    const double low = std::min(memory_least_beta, own_beta_ > 0 ? own_beta_ : memory_least_beta),
                 high = std::max(memory_most_beta, own_beta_), shown = beta_.value_or(memory_least_beta);
    ImGui::BeginGroup();
    if (const auto to = ui::slider("memory/beta", "β", std::clamp(shown, low, high), low, high, "%.4g", true))
        wanted.beta = std::clamp(four_digits(*to), memory_least_beta, memory_most_beta);
    ImGui::EndGroup();
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    ui::label("β =");
    if (const auto typed =
            ui::number_field("memory/beta-typed", "β as a number", shown, "%.4g", ui::number_width))
        wanted.beta = *typed;
    ImGui::SameLine(0, 6);
    const Status possible = now().beta ? ok() : Error{"This is the head’s own β."};
    if (ui::button("memory/own", "the head’s own", possible)) wanted.beta.reset();
    ImGui::EndGroup();
    set(wanted);
}

void MemoryLens::draw_controls(const Drawing& drawing, Subject& subject) {
    static constexpr std::array<const char*, 2> networks{"modern network", "classical network"};
    static constexpr std::array<const char*, 2> planes{"principal components", "query and strongest key"};
    MemoryState wanted = now();
    if (const auto chosen = ui::choice("memory/network", networks, static_cast<int>(wanted.network)))
        wanted.network = static_cast<MemoryNetwork>(*chosen);
    std::vector<const char*> names;
    int taken = -1;
    const auto presets = memory_presets(now().network);
    for (const MemoryPreset& preset : presets) {
        if (preset.make(now()) == now()) taken = static_cast<int>(names.size());
        names.push_back(preset.name);
    }
    ui::next_control(ui::need::named_choices);
    ImGui::BeginGroup();
    if (const auto chosen = ui::choice("memory/preset", names, taken))
        wanted = presets[static_cast<std::size_t>(*chosen)].make(now());
    ImGui::EndGroup();
    set(wanted);
    const bool modern = now().network == MemoryNetwork::modern;
    draw_beta();
    const Attention& attention = *subject.attention();
    if (attention.queries() > 1 && (modern || now().of_keys)) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        const Index last = attention.queries() - 1;
        if (const auto query =
                ui::stepper("memory/query", "query", label_at(attention.query_names(), row_.query),
                            {row_.query - 1, row_.query > 0 ? "" : "This is the first query."},
                            {row_.query + 1, row_.query < last ? "" : "This is the last query."}))
            parts::choose_tokens(drawing, *query, selection_of(drawing).key);
        ImGui::EndGroup();
    }
    if (!modern) return;
    wanted = now();
    ui::next_control(ui::need::named_choices);
    if (const auto chosen =
            ui::labelled_choice("plane", "memory/plane-of", planes, static_cast<int>(wanted.plane))) {
        wanted.plane = static_cast<MemoryPlane>(*chosen);
        wanted.start.reset();  // in another plane, the same coordinates would be another start
    }
    ui::next_control(ui::need::long_button);
    const Status possible = now().start ? ok() : Error{"It starts at the query."};
    if (ui::button("memory/at-query", "Start at q", possible)) wanted.start.reset();
    set(wanted);
}

void MemoryLens::draw_end(Subject& subject) {
    std::string text;
    if (path_->done() && path_->settled()) {
        const double first = path_->steps() > 0 ? path_->points()[1].moved : 0;
        text = "It ends at " + mostly(subject, path_->weights()) + ": " +
               fixed(effective_patterns(path_->weights()), 2) + " of " + many(patterns_->count(), "key") +
               ". The first step moves it by " + fixed(first, 3) + ", all of them by " +
               fixed(path_->travelled(), 3) + ". ";
    }
    const auto off = off_attention();
    const AttentionSpec& spec = row_.record->spec();
    if (off && (spec.softcap > 0 || !spec.bias.empty()))
        text +=
            "This head caps its scores or adds to them, so the weights of its attention differ from the "
            "first step’s by " +
            fixed(*off, 2) + ".";
    else if (off)
        text += "The first step’s weights are the head’s attention, to " + fixed(*off, 1) +
                ". The head reads V in the place of K at that step, and stops.";
    else if (!now().start)
        text += "The head’s own β is " + fixed(own_beta_, 4) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("memory/end");
}

void MemoryLens::draw_path(const Drawing& drawing, Subject& subject, float width) {
    ui::ChartCurve curve;
    curve.name = "E";
    curve.colour = ui::series_colour(0);
    curve.points = path_->steps() <= 40;
    for (Index t = 0; t < path_->looked_at(); ++t) {
        curve.x.push_back(static_cast<double>(t));
        curve.y.push_back(path_->points()[static_cast<std::size_t>(t)].energy);
    }
    const std::array curves{curve};
    const ui::Chart chart{
        .name = "memory-energy",
        .title = "Energy, step by step",
        .x = {"step", 0, static_cast<double>(std::max<Index>(path_->steps(), 1)), false, true},
        .y = ui::fitted("energy, in units of q · k", curves, false)};
    present::chart(drawing, chart, width, energy_height, curves,
                   [](std::size_t, std::size_t step) { return memory_cells::energy(step); });
    present::sheet(drawing, path_sheet(subject), width);
    draw_end(subject);
}

void MemoryLens::draw_moves(const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    if (attention.queries() < 2) return;
    ui::ChartCurve first, all;
    first.name = "one step";
    first.colour = ui::series_colour(0);
    all.name = "all steps";
    all.colour = ui::series_colour(1);
    first.points = all.points = moves_->count() <= 64;
    for (const QueryMoves::Row& row : moves_->rows()) {
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
                          .marked = static_cast<double>(row_.query)};
    const ui::ChartReply reply = present::chart(
        drawing, chart, width, moves_height, curves, [this](std::size_t curve, std::size_t point) {
            return memory_cells::distance(curve, moves_->rows()[point].query);
        });
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != row_.query)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    std::string text;
    if (moves_->count() < attention.queries())
        text = "Over " + std::to_string(moves_->count()) + " of " + many(attention.queries(), "query row") +
               ", evenly chosen. ";
    if (!moves_->done()) text += std::to_string(moves_->rows().size()) + " are followed so far.";
    if (!text.empty()) ui::caption(text.c_str());
}

void MemoryLens::draw_modern(const Drawing& drawing, Subject& subject, float width) {
    if (!refused_.empty() || !refused_beta_.empty()) {
        ui::paragraph(refused_.empty() ? refused_beta_ : refused_, ui::theme().text);
        ui::landmark_item("memory/refused");
        if (refused_.empty() || !moves_) return;
    } else {
        const bool beside = width >= ui::two_columns;
        const float left = beside ? std::floor((width - present::card_gap) * left_share) : width;
        ui::column("plane", left, [&](float w) { draw_plane(drawing, subject, w); });
        update(subject);
        if (path_ && path_->looked_at() > 0) {
            if (beside) ImGui::SameLine(0, present::card_gap);
            ui::column("path", beside ? width - left - present::card_gap : width,
                       [&](float w) { draw_path(drawing, subject, w); });
            if (path_->steps() > 0)
                present::sheet(drawing, weights_sheet(subject), width);
            else
                ui::caption("The start is a fixed point already, so there is no step to show.");
            if (const auto& cell = drawing.now.cell; cell && cell->is(memory_cells::weight))
                drawing.point(row_.query, cell->own.at[1]);
            present::sheet(drawing, states_sheet(subject), width);
        }
    }
    if (moves_) draw_moves(drawing, subject, width);
}

void MemoryLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    ui::hint(now().network == MemoryNetwork::modern
                 ? "Press “β = 100” and drag the start through the plane: it falls to the memory in whose "
                   "basin it lies."
                 : "Flip more of the cue’s bits, or store more patterns, until the pattern is lost.");
    if (ui::settings()) draw_controls(drawing, subject);
    update(subject);
    // With more patterns, a step takes longer than a frame may, so it is left to the work between frames.
    const bool brief = !patterns_ || look_cost(patterns_->count(), patterns_->components) <= look_work_a_step;
    while (brief && pending() && !drawing.deadline.passed()) step();
    update(subject);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    if (now().network == MemoryNetwork::modern)
        draw_modern(drawing, subject, width);
    else
        draw_classical(drawing, subject);
    if (pending())
        drawing.visit.continue_with([this, row = row_, memory = now()] {
            return row_ == row && now() == memory && row_.record && step();
        });
}

}  // namespace attn::app
