// Draws rows of softmax under four scales, and measures of them over d_k.
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
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float curve_height = 260, variance_height = 300, measures_width = 330;
constexpr double most_gradient = 0.5;  // ‖∂A/∂S‖_F for two equal weights, which no other row exceeds

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

}  // namespace

void ScaleLens::draw_row_controls(const Drawing& drawing, Subject& subject) {
    const Row& shown = row(subject);
    ScaleState scale = state().of<ScaleState>();
    ImGui::BeginGroup();
    if (row_->from.source.record) {
        const auto& names = subject.attention()->query_names();
        const Index query = row_->from.query, last = shown.row.record->queries() - 1;
        const auto chosen =
            ui::stepper("scale/query", "query", curly_quoted(names[static_cast<std::size_t>(query)]),
                        {query - 1, query > 0 ? "" : "This is the first query."},
                        {query + 1, query < last ? "" : "This is the last query."});
        if (chosen) parts::choose_tokens(drawing, chosen, selection_of(drawing).key);
    } else if (scale.row == ScaleRow::seeded) {
        if (const auto keys =
                ui::stepper("scale/keys", "keys", scale.keys, scale_least_keys, scale_most_keys))
            scale.keys = *keys;
    } else {
        ImGui::AlignTextToFramePadding();
        ui::caption(("Scores " + std::string(printed_row(scale.row)->scores_text) + ".").c_str());
    }
    ImGui::EndGroup();
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto own = ui::slider("scale/own", "your own scale", scale.own, scale_least_own, scale_most_own,
                                    "%.3g", true))
        scale.own = std::clamp(*own, scale_least_own, scale_most_own);
    ImGui::EndGroup();
    if (scale != state().of<ScaleState>()) visit().perform(SetScale{scale}, ui::gesture());
}

void ScaleLens::draw_rules(const Drawing& drawing, Subject& subject) {
    ImGui::Dummy({0, 4});
    ui::section("One row under four scales");
    draw_row_controls(drawing, subject);
    const Row& shown = row(subject);
    if (shown.keys.empty())
        ui::caption("The mask leaves this query no key, so all of its weights are 0.");
    else if (std::isnan(shown.rules.front().exact_saturation.largest))
        ui::caption("A score of this row is NaN, so its weights are NaN, too.");
    if (shown.rules.size() < scale_rules)
        drawing.visit.continue_with(
            [this, from = row_->from] { return row_->from == from && row_->what.step(); });
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    ImGui::BeginGroup();
    present::sheet(drawing, weights_sheet(subject),
                   beside ? width - measures_width - present::card_gap : width);
    ImGui::EndGroup();
    if (const auto& cell = drawing.now.cell;
        cell && cell->is(scale_cells::weight) && row_->from.source.record)
        drawing.point(shown.row.query, cell->own.at[1]);
    if (beside) ImGui::SameLine(0, present::card_gap);
    ImGui::BeginGroup();
    present::sheet(drawing, measures_sheet(subject), beside ? measures_width : width);
    ImGui::EndGroup();
}

void ScaleLens::draw_curve(const Drawing& drawing, RowMeasure measure, float width) {
    static constexpr std::array names{"entropy", "largest", "gradient", "variance"};
    static constexpr std::array titles{"Entropy", "Largest weight", "Gradient that passes",
                                       "Variance of the scaled scores"};
    static constexpr std::array axes{"entropy, nats", "largest weight", "‖∂A/∂S‖", "variance"};
    const auto m = static_cast<std::size_t>(measure);
    const ScaleCurves& over = curves();
    const ScaleState& now = state().of<ScaleState>();
    std::vector<ui::ChartCurve> drawn;
    for (std::size_t r = 0; r < scale_rules; ++r) {
        ui::ChartCurve curve{.name = scale_rule_names[r], .colour = ui::series_colour(r)};
        for (std::size_t p = 0; p < ScaleCurves::points().size() && over.seeds_done() > 0; ++p) {
            const ScaleCurves::Spread spread = over.over_seeds(measure, r, p);
            curve.x.push_back(static_cast<double>(ScaleCurves::points()[p]));
            curve.y.push_back(spread.mean);
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
    const double most = measure == RowMeasure::entropy   ? std::log(static_cast<double>(now.keys))
                        : measure == RowMeasure::largest ? 1
                                                         : most_gradient;
    const ui::Chart chart{.name = names[m],
                          .title = titles[m],
                          .x = {"d_k", 1, static_cast<double>(scale_components_limit), true, true},
                          .y = of_variance ? decades(axes[m], drawn) : ui::ChartAxis{axes[m], 0, 1.06 * most},
                          .marked = static_cast<double>(now.components)};
    set_components(present::chart(drawing, chart, width, of_variance ? variance_height : curve_height, drawn,
                                  [&](std::size_t rule, std::size_t point) -> std::optional<CellRef> {
                                      if (rule >= scale_rules) return std::nullopt;
                                      return scale_cells::curve(measure, rule, point);
                                  }));
}

}  // namespace attn::app
