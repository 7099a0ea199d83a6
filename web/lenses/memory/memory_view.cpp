#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/format.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/memory/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"
#include "widgets/plot.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float left_share = 0.5f, energy_height = 236, moves_height = 230, gap_below = 10;
constexpr float least_cell = 42, names_width = 60;
constexpr Index fewest_columns = 4, most_columns = 20;

Index fitting_columns(float width) {
    return std::clamp(static_cast<Index>((width - names_width) / least_cell), fewest_columns, most_columns);
}

}  // namespace

namespace memory_view {

double four_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return std::strtod(text, nullptr);
}

void answer(const Drawing& drawing, const ui::ChartReply& reply, std::optional<CellRef> cell) {
    if (!cell) return;
    drawing.now.cell = cell;
    if (reply.clicked) present::pin(drawing, *cell);
}

void draw_grid(const Drawing& drawing, ui::MatrixGrid& grid, const ui::GridMetrics& metrics, ImVec2 at,
               const std::function<std::optional<CellRef>(ui::CellAt)>& cell_of) {
    if (const auto& pin = drawing.state().pin)
        for (Index r = 0; r < grid.values->rows && !grid.pinned; ++r)
            for (Index c = 0; c < grid.values->cols; ++c)
                if (cell_of({r, c}) == *pin) grid.pinned = {r, c};
    const ui::GridReply reply = ui::draw_matrix_grid(grid, metrics, at);
    if (reply.hovered)
        if (const auto cell = cell_of(*reply.hovered)) drawing.now.cell = *cell;
    if (reply.clicked)
        if (const auto cell = cell_of(*reply.clicked)) present::pin(drawing, *cell);
}

}  // namespace memory_view

using namespace memory_view;

namespace {

void draw_below(const Drawing& drawing, ui::MatrixGrid& grid, float width,
                const std::function<std::optional<CellRef>(ui::CellAt)>& cell_of) {
    const ui::GridMetrics metrics = ui::grid_metrics(grid, width);
    const ImVec2 at = ImGui::GetCursorScreenPos(), size = ui::grid_size(grid, metrics);
    draw_grid(drawing, grid, metrics, at, cell_of);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({std::min(size.x, width), size.y + gap_below});
}

}  // namespace

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
    ImGui::BeginGroup();
    ui::label("plane");
    if (const auto chosen = ui::choice("memory/plane-of", planes, static_cast<int>(wanted.plane))) {
        wanted.plane = static_cast<MemoryPlane>(*chosen);
        wanted.start.reset();  // a place in the other plane is another one
    }
    ImGui::EndGroup();
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
    const ui::ChartReply reply = present::chart(drawing, chart, width, energy_height, curves);
    answer(drawing, reply,
           reply.over ? std::optional(memory_cells::energy(reply.over->point)) : std::nullopt);

    static const std::vector<std::string> columns{"energy", "moved by", "keys, e^S"};
    const std::vector<Index> steps = steps_shown();
    Matrix values(std::ssize(steps), std::ssize(columns));
    ui::MatrixGrid grid;
    std::vector<std::string> rows;
    for (Index r = 0; r < values.rows; ++r) {
        const Index t = steps[static_cast<std::size_t>(r)];
        const Retrieval::Point& point = path_->points()[static_cast<std::size_t>(t)];
        rows.push_back(std::to_string(t));
        const std::array each{point.energy, point.moved, point.effective};
        for (Index c = 0; c < values.cols; ++c) {
            values.at(r, c) = each[static_cast<std::size_t>(c)];
            const bool there = (c == 0 && t < path_->looked_at()) || (c > 0 && t > 0);
            grid.texts.push_back(there ? fixed(values.at(r, c), 4) : "–");
        }
    }
    grid.name = "memory/path";
    grid.title = "The path";
    grid.values = &values;
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "step";
    grid.column_axis = "number";
    draw_below(drawing, grid, width, [&](ui::CellAt at) -> std::optional<CellRef> {
        const Index t = steps[static_cast<std::size_t>(at.first)];
        if (at.second > 0 && t == 0) return std::nullopt;
        return at.second == 0   ? memory_cells::energy(t)
               : at.second == 1 ? memory_cells::update_norm(t)
                                : memory_cells::effective_keys(t);
    });
    draw_end(subject);
}

void MemoryLens::draw_weights(const Drawing& drawing, Subject& subject, float width) {
    std::vector<Index> steps = steps_shown();
    steps.erase(steps.begin());
    if (steps.empty()) return ui::caption("The start is a fixed point already, so there is no step to show.");
    const std::vector<Index> keys = keys_shown(fitting_columns(width));
    Matrix values(std::ssize(steps), std::ssize(keys));
    std::vector<std::string> rows, columns;
    for (const Index t : steps) rows.push_back(std::to_string(t));
    for (const Index j : keys)
        columns.push_back(
            label_at(subject.attention()->key_names(), patterns_->keys[static_cast<std::size_t>(j)]));
    for (Index r = 0; r < values.rows; ++r)
        for (Index c = 0; c < values.cols; ++c)
            values.at(r, c) = path_->points()[static_cast<std::size_t>(steps[static_cast<std::size_t>(r)])]
                                  .weights[static_cast<std::size_t>(keys[static_cast<std::size_t>(c)])];
    ui::MatrixGrid grid;
    grid.name = "memory/weight";
    grid.title = "Weights of each step";
    grid.notation = values.cols < patterns_->count()
                        ? "softmax(β K ξ), the chosen key and the largest, " + std::to_string(values.cols) +
                              " of " + with_commas(patterns_->count()) + " keys"
                        : "softmax(β K ξ)";
    grid.values = &values;
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "step";
    grid.column_axis = "key";
    const auto cell_of = [&](ui::CellAt at) -> std::optional<CellRef> {
        const Index j = keys[static_cast<std::size_t>(at.second)];
        return memory_cells::weight(steps[static_cast<std::size_t>(at.first)],
                                    patterns_->keys[static_cast<std::size_t>(j)]);
    };
    draw_below(drawing, grid, width, cell_of);
    if (const auto& cell = drawing.now.cell; cell && cell->is(memory_cells::weight))
        drawing.point(row_.query, cell->own.at[1]);
}

void MemoryLens::draw_states(const Drawing& drawing, float width) {
    const std::vector<Index> steps = steps_shown();
    const Index d = patterns_->components, shown = std::min(d, fitting_columns(width));
    Matrix values(std::ssize(steps), shown);
    std::vector<std::string> rows;
    for (const Index t : steps) rows.push_back(std::to_string(t));
    for (Index r = 0; r < values.rows; ++r)
        for (Index c = 0; c < shown; ++c)
            values.at(r, c) = path_->points()[static_cast<std::size_t>(steps[static_cast<std::size_t>(r)])]
                                  .state[static_cast<std::size_t>(c)];
    ui::MatrixGrid grid;
    grid.name = "memory/state";
    grid.title = "The state ξ";
    grid.notation = shown < d ? "the first " + std::to_string(shown) + " of " + many(d, "component") : "";
    grid.values = &values;
    grid.row_labels = rows;
    grid.row_axis = "step";
    grid.column_axis = "component";
    grid.is_signed = true;
    draw_below(drawing, grid, width, [&](ui::CellAt at) -> std::optional<CellRef> {
        return memory_cells::state(steps[static_cast<std::size_t>(at.first)], at.second);
    });
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
    const ui::ChartReply reply = present::chart(drawing, chart, width, moves_height, curves);
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != row_.query)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    if (reply.over)
        answer(drawing, reply,
               memory_cells::distance(reply.over->curve, moves_->rows()[reply.over->point].query));
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
        const float left = beside ? std::floor((width - ui::column_gap) * left_share) : width;
        ui::column("plane", left, [&](float w) { draw_plane(drawing, subject, w); });
        update(subject);
        if (path_ && path_->looked_at() > 0) {
            if (beside) ImGui::SameLine(0, ui::column_gap);
            ui::column("path", beside ? width - left - ui::column_gap : width,
                       [&](float w) { draw_path(drawing, subject, w); });
            ImGui::Dummy({0, gap_below});
            draw_weights(drawing, subject, width);
            draw_states(drawing, width);
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
    // Of more patterns a step takes longer than a frame may, and is left to the work between frames.
    const bool brief = !patterns_ || look_cost(patterns_->count(), patterns_->components) <= look_work_a_step;
    while (brief && pending() && !drawing.deadline.passed()) step();
    update(subject);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    if (now().network == MemoryNetwork::modern)
        draw_modern(drawing, subject, width);
    else
        draw_classical(drawing, subject, width);
    if (pending())
        drawing.visit.continue_with([this, row = row_, memory = now()] {
            return row_ == row && now() == memory && row_.record && step();
        });
}

}  // namespace attn::app
