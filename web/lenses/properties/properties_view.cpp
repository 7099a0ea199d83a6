// Draws the table of properties, the errors of one of them query by query, and those of all heads.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/properties/properties.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::properties {

namespace {

constexpr float table_share = 0.48f, chart_height = 260;
constexpr double large_constant = 1000;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// ---- Controls ---------------------------------------------------------------------------------------------

// Opens the lens that shows the number with the worst error, and pins it there.
void go_to_worst(const Model& model, const Drawing& drawing, Subject& subject) {
    const Property property = model.state.shown;
    const CheckedCell& worst = model.result(property).worst;
    Selection at = selection_of(drawing);
    at.layer = worst.layer;
    at.head = worst.head;
    at.query = worst.query;
    const CellPlace place = place_of(subject, property, worst);
    if (const RunCell* cell = place.cell.run(); cell && is_of_pairs(cell->stage)) at.key = cell->col;
    show_cell(drawing.visit, drawing.state().lens, at, place.cell, ui::gesture());
}

// Returns whether a button was pressed that may have changed everything.
bool draw_tries(const Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row tries("properties/try", ui::to_try);
    State next = drawing.state().of<State>();
    const bool has_worst = model.checks && model.result(next.shown).cells > 0;
    const char* worst = "Go to the worst cell";
    if (ui::next_button(worst) &&
        ui::button("properties/try/worst", worst,
                   has_worst ? ok() : Status(Error{"No cell of this property is checked here."}))) {
        go_to_worst(model, drawing, subject);
        return true;
    }
    const char* add = "Add 1,000 to the scores";
    if (ui::next_button(add) && ui::button("properties/try/constant", add)) {
        next.constant = large_constant;
        next.shown = Property::shift;
    }
    const char* order = "Another order of the tokens";
    if (ui::next_button(order) && ui::button("properties/try/order", order)) {
        ++next.seed;
        next.shown = Property::permutation;
    }
    const char* all = "Check all heads";
    if (next.scope != Scope::all && ui::next_button(all) && ui::button("properties/try/all", all))
        next.scope = Scope::all;
    set(drawing, next);
    return false;
}

void draw_settings(const Drawing& drawing, Subject& subject) {
    const ui::Row row("properties/settings");
    State next = drawing.state().of<State>();
    ui::labelled_list("errors of", "properties/show", name_of(next.shown), ui::wide_menu_width,
                      [&](const ui::ListOptions& list) {
                          for (std::size_t i = 0; i < property_words.size(); ++i) {
                              const auto property = static_cast<Property>(i);
                              if (list.option(property_words[i], name_of(property), property == next.shown))
                                  next.shown = property;
                          }
                      });
    const Attention& attention = *subject.attention();
    static constexpr std::array<const char*, 3> scopes{"this head", "its layer", "all heads"};
    if (attention.layers() * attention.heads() > 1 && ui::next_control(ui::need::named_choices))
        if (const auto scope =
                ui::labelled_choice("check", "properties/scope", scopes, static_cast<int>(next.scope)))
            next.scope = static_cast<Scope>(*scope);
    ui::control(ui::need::slider, [&] {
        if (const auto constant = ui::slider("properties/constant", "constant",
                                             std::clamp(next.constant, -1000.0, 1000.0), -1000, 1000, "%.0f"))
            next.constant = std::round(*constant);
    });
    ui::control(ui::need::stepper, [&] {
        if (const auto seed = ui::stepper("properties/seed", "seed of the order", next.seed, 0, 9999))
            next.seed = static_cast<std::uint32_t>(*seed);
    });
    set(drawing, next);
}

// ---- Pictures ---------------------------------------------------------------------------------------------

void draw_properties(const Model& model, const Drawing& drawing, Subject& subject, bool experiments,
                     float width) {
    const Index first = experiments ? required_properties : 0;
    State next = drawing.state().of<State>();
    const auto show = [&](Index row) { next.shown = static_cast<Property>(first + row); };
    const auto clicked =
        present::sheet(drawing, properties_sheet(model, subject, experiments), width, {}, {}, show);
    if (clicked) show(clicked->first);
    set(drawing, next);
}

// The error of each checked query beside its bound. A logarithmic axis has no place for 0.
void draw_errors(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Property property = model.state.shown;
    const std::vector<CheckedCell>& queries = model.result(property).queries;
    if (queries.empty()) return;
    ui::ChartCurve errors, bounds;
    errors.name = "error";
    errors.colour = ui::series_colour(0);
    errors.points = true;
    bounds.name = "bound";
    bounds.colour = ui::theme().dim;
    bounds.dashed = true;
    double low = HUGE_VAL, high = 0;
    std::size_t exact = 0;
    for (const CheckedCell& each : queries) {
        exact += each.error == 0;
        for (const double value : {each.error, each.bound})
            if (value > 0 && std::isfinite(value)) {
                low = std::min(low, value);
                high = std::max(high, value);
            }
        for (auto* curve : {&errors, &bounds}) curve->x.push_back(static_cast<double>(each.query));
        errors.y.push_back(each.error);
        bounds.y.push_back(each.bound);
    }
    const bool is_exact = high == 0 || exact == queries.size();
    if (!is_exact)
        for (auto* curve : {&errors, &bounds})
            for (double& y : curve->y) y = y > 0 ? y : NAN;
    const Attention& attention = *subject.attention();
    const double last = std::max<double>(1, static_cast<double>(attention.queries() - 1));
    const Index chosen = selection_of(drawing).query.value_or(-1);
    ui::Chart chart{.name = "properties-error",
                    .title = std::string(name_of(property)) + ": error of each query",
                    .x = {"query", 0, last, false, true},
                    .y = {"error", is_exact ? 0 : low / 2, is_exact ? (high == 0 ? 1 : high * 1.1) : high * 2,
                          !is_exact}};
    if (chosen >= 0) chart.marked = static_cast<double>(chosen);
    std::vector<ui::ChartCurve> curves{errors};
    if (high > 0 && model.result(property).is_meant &&
        std::ranges::any_of(queries, [](const CheckedCell& each) { return each.bound > 0; }))
        curves.push_back(bounds);
    const auto reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                           const Index query = queries[point].query;
                           return curve == 0 ? cells::query(property, query) : cells::limit(property, query);
                       });
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != chosen)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    const auto rows = std::ssize(queries);
    ui::caption(
        exact == queries.size() ? ("All " + many(rows, "checked row") + " of this head are exact.").c_str()
        : exact > 0 ? (with_commas(static_cast<std::int64_t>(exact)) + " of " + many(rows, "checked row") +
                       " are exact; a logarithmic axis does not show them.")
                          .c_str()
                    : ("Of this head, " + many(rows, "row") + " of " + with_commas(attention.queries()) +
                       " are checked.")
                          .c_str());
}

void draw_pictures(const Model& model, const Drawing& drawing, Subject& subject) {
    ui::unequal_columns(
        table_share, present::card_gap, "properties/left",
        [&](float w) {
            draw_properties(model, drawing, subject, false, w);
            draw_properties(model, drawing, subject, true, w);
            if (const std::string rest = unchecked(model); !rest.empty()) {
                ui::caption(rest.c_str());
                ui::landmark_item("properties/unchecked");
            }
        },
        "properties/right",
        [&](float w) {
            const Property shown = model.state.shown;
            ui::caption((std::string(name_of(shown)) + ". " + way_of(shown)).c_str());
            draw_errors(model, drawing, subject, w);
            if (model.of.scope == Scope::head || model.result(model.state.shown).heads.empty()) return;
            if (const auto clicked = present::sheet(drawing, heads_sheet(model, subject), w)) {
                const Index first =
                    model.of.scope == Scope::all ? subject.attention()->alike().begin : model.of.head.layer;
                parts::choose_head(drawing, {first + clicked->first, clicked->second});
            }
        });
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Click a property to see its errors query by query; hover over an error to see where it comes from.");
    if (ui::settings()) {
        if (draw_tries(model, drawing, subject)) return;
        draw_settings(drawing, subject);
    }
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step()) continue;
    if (!model.checks) return;
    draw_pictures(model, drawing, subject);
    if (!model.is_done())
        drawing.visit.continue_with([&model, of = model.of] { return model.of == of && model.step(); });
}

}  // namespace attn::app::properties
