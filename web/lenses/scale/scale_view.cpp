#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/scale/scale.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::scale {

namespace {

constexpr float chart_height = 300, least_chart = 320, least_curve = 270;
constexpr float curve_height = 260, variance_height = 300, measures_width = 330;
constexpr double most_gradient = 0.5;  // ‖∂A/∂S‖_F for two equal weights, which no other row exceeds

ui::ChartCurve dashed(const char* name, std::vector<double> x, std::vector<double> y) {
    return {.name = name, .colour = ui::theme().dim, .x = std::move(x), .y = std::move(y), .dashed = true};
}

// Cells of the first curve, whose points are counted from `first` on.
present::PointCell cell_of_first(const CellKind& kind, std::size_t first = 0) {
    return [&kind, first](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
        if (curve > 0) return std::nullopt;
        return kind(point + first);
    };
}

// An axis of powers of ten around the numbers of curves.
ui::ChartAxis decades(std::string title, std::span<const ui::ChartCurve> curves) {
    double low = HUGE_VAL, high = 0;
    for (const ui::ChartCurve& curve : curves)
        for (const double number : curve.y)
            if (number > 0) low = std::min(low, number), high = std::max(high, number);
    if (!(low < high)) low = 1, high = 10;
    return {std::move(title), std::pow(10, std::floor(std::log10(low))),
            std::pow(10, std::ceil(std::log10(high))), true};
}

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// Computes the rest in slices.
template <class Key, class Job>
void finish(Model& model, const Drawing& drawing, Derived<Key, Job> Model::* part) {
    const Job* begun = (model.*part).kept();
    if (!begun || begun->done()) return;
    drawing.visit.continue_with([&model, part, row = model.row, state = model.state] {
        Job* job = (model.*part).kept();
        return job && model.row == row && model.state == state && job->step();
    });
}

// Sets d_k to where a chart's mark was dragged.
void set_components(const Drawing& drawing, const ui::ChartReply& reply) {
    if (!reply.held) return;
    State next = drawing.state().of<State>();
    next.components = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{1}, components_limit);
    set(drawing, next);
}

void draw_presets(const Drawing& drawing) {
    const State& now = drawing.state().of<State>();
    std::vector<const char*> titles;
    int taken = -1;
    for (const Preset& preset : presets()) {
        if (preset.from(now) == now) taken = static_cast<int>(titles.size());
        titles.push_back(preset.title);
    }
    const ui::Row tries("scale/try", ui::to_try);
    ui::control(ui::need::named_choices, [&] {
        if (const auto chosen = ui::choice("scale/preset", titles, taken))
            drawing.visit.perform(Set<State>{presets()[static_cast<std::size_t>(*chosen)].from(now)});
    });
}

void draw_controls(const Model& model, const Drawing& drawing) {
    State next = drawing.state().of<State>();
    const std::optional<std::string>& without = model.without_vectors;
    static constexpr std::array<const char*, 2> names{"seeded normal", "of this head"};
    const ui::Row row("scale/settings");
    ImGui::BeginGroup();
    ui::label("q and k");
    ImGui::BeginDisabled(without.has_value());
    if (const auto chosen = ui::choice("scale/vectors", names, without ? 0 : static_cast<int>(next.vectors)))
        next.vectors = static_cast<Vectors>(*chosen);
    ImGui::EndDisabled();
    ImGui::EndGroup();
    const Index most = model.row.record ? model.row.record->d_k() : components_limit;
    ui::control(ui::need::slider, [&] {
        if (const auto d = ui::slider("scale/d", "d_k", static_cast<double>(std::min(next.components, most)),
                                      1, static_cast<double>(most), "%.0f", true))
            next.components = std::clamp(static_cast<Index>(std::lround(*d)), Index{1}, most);
    });
    if (!model.row.record) {
        ui::control(ui::need::stepper, [&] {
            if (const auto seed =
                    ui::stepper("scale/seed", "seed", static_cast<Index>(next.seed), 0, 999'999))
                next.seed = static_cast<std::uint32_t>(*seed);
        });
    }
    if (without) {
        ui::caption(without->c_str());
        ui::landmark_item("scale/without");
    }
    set(drawing, next);
}

// ---- The products -----------------------------------------------------------------------------------------

void draw_histogram(Model& model, const Drawing& drawing, float width) {
    const ui::Theme& t = ui::theme();
    const ProductHistogram& all = model.histogram();
    const DotProducts& counted = *model.products.kept();
    const bool of_head = model.row.record != nullptr;
    ui::ChartCurve bars{
        .name = of_head ? "this head" : "counted", .colour = ui::with_alpha(t.accent, 0.6f), .bars = true};
    for (Index bin = 0; bin < ProductHistogram::bins; ++bin) {
        const auto at = static_cast<std::size_t>(bin);
        bars.add((all.edge(bin) + all.edge(bin + 1)) / 2, static_cast<double>(all.counts[at]));
    }
    const ui::ChartCurve exact{.name = of_head ? "standard normal, exact" : "exact",
                               .colour = t.changed,
                               .x = bars.x,
                               .y = all.expected},
        limit = dashed("normal limit", bars.x, all.normal);
    const ui::Chart chart{
        .name = "products",
        .title = "q · k of " + with_commas(all.pairs) + " pairs",
        .x = {"q · k", -all.reach, all.reach},
        .y = {"pairs in a bin", 0, std::max(1.15 * std::ranges::max(bars.y), 1.0), false, true}};
    const std::array curves{bars, exact, limit};
    present::chart(drawing, chart, width, chart_height, curves, cell_of_first(cells::histogram));

    const Moments moments = moments_of(std::span(counted.values()));
    const auto d = static_cast<double>(counted.components());
    std::string told = "Their variance is " + fixed(moments.variance, 2) + ", and d_k is " +
                       std::to_string(counted.components()) + "; their mean is " + fixed(moments.mean, 3) +
                       ".";
    if (of_head)
        told += " That is " + fixed(moments.variance / d, 2) + " a component; standard normal ones have 1.";
    if (counted.odd() > 0)
        told += " Left out: " + many(counted.odd(), "score") + " that " +
                (counted.odd() == 1 ? "is" : "are") + " NaN or infinite.";
    ui::caption(told.c_str());
    ui::landmark_item("scale/measured");
}

void draw_grown(const Model& model, const Drawing& drawing, float width) {
    const ComponentVariances& of = *model.variances.kept();
    const Index d = of.components();
    ui::ChartCurve measured{.name = "this head", .colour = ui::theme().accent},
        alone{.name = "Σ of each alone", .colour = ui::theme().changed};
    double own = 0;
    for (Index a = 0; a < d; ++a) {
        measured.add(static_cast<double>(a + 1), of.of_first(a + 1));
        alone.y.push_back(own += of.own(a));
    }
    alone.x = measured.x;
    const std::array curves{measured, alone, dashed("standard normal", measured.x, measured.x)};
    const ui::Chart chart{.name = "grown",
                          .title = "Variance over the first components",
                          .x = {"components", 1, std::max(static_cast<double>(d), 2.0), false, true},
                          .y = ui::fitted("variance of q · k", curves, true),
                          .marked = static_cast<double>(std::min(model.state.components, d))};
    set_components(drawing, present::chart(drawing, chart, width, chart_height, curves,
                                           cell_of_first(cells::cumulative_variance, 1)));
    ui::caption("Between the two curves are the covariances of the products.");
}

void draw_components(const Model& model, const Drawing& drawing, float width) {
    const ComponentVariances& of = *model.variances.kept();
    const auto d = static_cast<double>(of.components());
    ui::ChartCurve bars{.name = "q_a k_a", .colour = ui::with_alpha(ui::theme().accent, 0.6f), .bars = true};
    for (Index a = 0; a < of.components(); ++a) {
        bars.add(static_cast<double>(a), of.own(a));
    }
    const std::array curves{bars, dashed("standard normal", bars.x, std::vector(bars.x.size(), 1.0))};
    const ui::Chart chart{.name = "components",
                          .title = "Variance of each component’s product",
                          .x = {"component a", -0.5, d - 0.5, false, true},
                          .y = ui::fitted("variance of q_a k_a", curves, true)};
    present::chart(drawing, chart, width, chart_height, curves, cell_of_first(cells::component_variance));
    ui::caption(("Over " + with_commas(of.counted()) + " pairs that the mask allows.").c_str());
}

// ---- The rows ---------------------------------------------------------------------------------------------

void draw_row_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    State next = drawing.state().of<State>();
    ImGui::BeginGroup();
    if (const auto& record = model.row.record) {
        const auto& names = subject.attention()->query_names();
        const Index query = model.row.query, last = record->queries() - 1;
        const auto chosen =
            ui::stepper("scale/query", "query", curly_quoted(names[static_cast<std::size_t>(query)]),
                        {query - 1, query > 0 ? "" : "This is the first query."},
                        {query + 1, query < last ? "" : "This is the last query."});
        if (chosen) parts::choose_tokens(drawing, chosen, selection_of(drawing).key);
    } else if (next.row == Row::seeded) {
        if (const auto keys = ui::stepper("scale/keys", "keys", next.keys, least_keys, most_keys))
            next.keys = *keys;
    } else {
        ImGui::AlignTextToFramePadding();
        ui::caption(("Scores " + std::string(printed_row(next.row)->scores_text) + ".").c_str());
    }
    ImGui::EndGroup();
    ui::control(ui::need::slider, [&] {
        if (const auto own =
                ui::slider("scale/own", "your own scale", next.own, least_own, most_own, "%.3g", true))
            next.own = std::clamp(*own, least_own, most_own);
    });
    set(drawing, next);
}

void draw_rules(Model& model, const Drawing& drawing, Subject& subject) {
    ImGui::Dummy({0, 4});
    ui::section("One row under four scales");
    draw_row_controls(model, drawing, subject);
    model.update(drawing.visit, subject);
    const RuledRows& shown = *model.rules.kept();
    if (shown.keys.empty())
        ui::caption("The mask leaves this query no key, so all of its weights are 0.");
    else if (std::isnan(shown.rules.front().exact_saturation.largest))
        ui::caption("A score of this row is NaN, so its weights are NaN, too.");
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    ImGui::BeginGroup();
    present::sheet(drawing, weights_sheet(model, subject),
                   beside ? width - measures_width - present::card_gap : width);
    ImGui::EndGroup();
    if (const auto& cell = drawing.now.cell; cell && cell->is(cells::weight) && model.row.record)
        drawing.point(shown.row.query, cell->own()->at[1]);
    if (beside) ImGui::SameLine(0, present::card_gap);
    ImGui::BeginGroup();
    present::sheet(drawing, measures_sheet(model), beside ? measures_width : width);
    ImGui::EndGroup();
}

void draw_curve(const Model& model, const Drawing& drawing, RowMeasure measure, float width) {
    static constexpr std::array names{"entropy", "largest", "gradient", "variance"};
    static constexpr std::array titles{"Entropy", "Largest weight", "Gradient that passes",
                                       "Variance of the scaled scores"};
    static constexpr std::array axes{"entropy, nats", "largest weight", "‖∂A/∂S‖", "variance"};
    const auto m = static_cast<std::size_t>(measure);
    const ScaleCurves& over = *model.curves.kept();
    std::vector<ui::ChartCurve> drawn;
    for (std::size_t r = 0; r < scale_rules; ++r) {
        ui::ChartCurve curve{.name = rule_names[r], .colour = ui::series_colour(r)};
        for (std::size_t p = 0; p < ScaleCurves::points().size() && over.seeds_done() > 0; ++p) {
            const ScaleCurves::Spread spread = over.over_seeds(measure, r, p);
            curve.add(static_cast<double>(ScaleCurves::points()[p]), spread.mean);
            curve.band_low.push_back(spread.low);
            curve.band_high.push_back(spread.high);
        }
        drawn.push_back(std::move(curve));
    }
    const bool of_variance = measure == RowMeasure::variance;
    if (of_variance) {
        const std::vector<double> d(ScaleCurves::points().begin(), ScaleCurves::points().end());
        drawn.push_back({.name = "d_k", .colour = ui::theme().dim, .x = d, .y = d, .dashed = true});
    }
    const double most = measure == RowMeasure::entropy   ? std::log(static_cast<double>(model.state.keys))
                        : measure == RowMeasure::largest ? 1
                                                         : most_gradient;
    const ui::Chart chart{.name = names[m],
                          .title = titles[m],
                          .x = {"d_k", 1, static_cast<double>(components_limit), true, true},
                          .y = of_variance ? decades(axes[m], drawn) : ui::ChartAxis{axes[m], 0, 1.06 * most},
                          .marked = static_cast<double>(model.state.components)};
    set_components(drawing,
                   present::chart(drawing, chart, width, of_variance ? variance_height : curve_height, drawn,
                                  [&](std::size_t rule, std::size_t point) -> std::optional<CellRef> {
                                      if (rule >= scale_rules) return std::nullopt;
                                      return cells::curve(measure, rule, point);
                                  }));
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(model.row.record
                 ? "Look at a row with its scale left out or doubled, and at which components its "
                   "scores come from."
                 : "Drag d_k up: the scores spread, and without a scale softmax puts everything on "
                   "one key.");
    if (ui::settings()) {
        draw_presets(drawing);
        draw_controls(model, drawing);
        model.update(drawing.visit, subject);
    }
    const auto histogram = [&](float width) { draw_histogram(model, drawing, width); };
    if (model.row.record) {
        ui::columns("scale/head", least_chart, present::card_gap, histogram,
                    [&](float width) { draw_grown(model, drawing, width); });
        draw_rules(model, drawing, subject);
        draw_components(model, drawing, ImGui::GetContentRegionAvail().x);
    } else {
        const auto curve = [&](RowMeasure measure) {
            return [&, measure](float width) { draw_curve(model, drawing, measure, width); };
        };
        ui::columns("scale/normal", least_chart, present::card_gap, histogram, curve(RowMeasure::variance));
        draw_rules(model, drawing, subject);
        ui::section("The same over d_k");
        const Index seeds = model.curves.kept()->seeds_done();
        ui::caption((many(ScaleCurves::seeds, "seed") +
                     ": their mean, and a band without the lowest and the highest tenth." +
                     (seeds < ScaleCurves::seeds ? " " + std::to_string(seeds) + " are drawn so far." : ""))
                        .c_str());
        ui::columns("scale/curves", least_curve, present::card_gap, curve(RowMeasure::entropy),
                    curve(RowMeasure::largest), curve(RowMeasure::gradient));
        finish(model, drawing, &Model::curves);
    }
    finish(model, drawing, &Model::rules);
    finish(model, drawing, &Model::products);
    finish(model, drawing, &Model::variances);
}

}  // namespace attn::app::scale
