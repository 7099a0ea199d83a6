// Draws rows of softmax under four scales, and what is measured of them over d_k.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/scale/scale.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/bars.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/plot.hpp"

namespace attn::app {

namespace {

constexpr float curve_height = 260, rule_gap = 20, least_rule = 196;
constexpr double most_gradient = 0.5;  // ‖∂A/∂S‖_F of two even weights, which no other row exceeds

// The powers of ten around the numbers of curves.
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
    ImGui::Dummy({0, 8});
    ui::section("One row under four scales");
    draw_row_controls(drawing, subject);
    const Row& shown = row(subject);
    if (shown.keys.empty())
        ui::caption("The mask leaves this query no key, so all of its weights are 0.");
    else if (std::isnan(shown.rules.front().exact_saturation.largest))
        ui::caption("A score of this row is NaN, so its weights are NaN, too.");
    else
        ui::caption(
            "Entropy in nats, the largest weight, and the length of ∂A/∂S, which a gradient is "
            "multiplied by; then the weights, the highest score first.");
    if (shown.rules.size() < scale_rules)
        drawing.visit.continue_with(
            [this, from = row_->from] { return row_->from == from && row_->what.step(); });
    ui::columns(
        "scale/rules", least_rule, rule_gap, [&](float width) { draw_rule(drawing, shown, 0, width); },
        [&](float width) { draw_rule(drawing, shown, 1, width); },
        [&](float width) { draw_rule(drawing, shown, 2, width); },
        [&](float width) { draw_rule(drawing, shown, 3, width); });
}

void ScaleLens::draw_rule(const Drawing& drawing, const Row& shown, std::size_t r, float width) {
    if (r >= shown.rules.size()) return;
    const RuledRow& rule = shown.rules[r];
    const std::string number = std::to_string(r);
    {
        ui::Type semibold(ui::Face::semibold, ui::size_body);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 5}, {at.x + 10, at.y + 13},
                                                  ui::series_colour(r), 2);
        ImGui::SetCursorScreenPos({at.x + 16, at.y});
        const std::string title = rule.name + ": × " + fixed(rule.record.scale(), 4);
        ui::text_item(title);
        ui::semantic_text(ui::Role::heading, title);
        ui::landmark_item("scale/rule/" + number);
    }
    const auto answer_bar = [&](std::optional<Index> over, const CellRef& cell) {
        if (!over) return;
        drawing.now.cell = cell;
        if (ui::clicked()) present::pin(drawing, cell);
    };
    const auto lit = [&](const CellRef& cell) { return state().pin == cell; };

    const double even = std::log(static_cast<double>(std::max<std::size_t>(shown.keys.size(), 2)));
    static constexpr std::array<const char*, row_measures> names{"entropy", "largest", "‖∂A/∂S‖"};
    const std::array<double, row_measures> most{even, 1, most_gradient};
    std::vector<ui::Bar> bars;
    const auto measure_cell = [&](auto measure) { return scale_cells::measure(measure, r); };
    for (std::size_t m = 0; m < row_measures; ++m) {
        const double value = measured(rule.exact_saturation, static_cast<RowMeasure>(m));
        bars.push_back(
            {names[m], static_cast<float>(value / most[m]), fixed(value, 4), lit(measure_cell(m)), false});
    }
    const ui::ColourScale scale = ui::sequential_scale(1);
    if (const auto over =
            ui::bar_list("scale/measure/" + number, rule.name + ", measured", width, bars, 1, scale))
        answer_bar(over, measure_cell(*over));

    // The head's own weights are its own cells.
    const bool own = row_->from.source.record && r == 0;
    const auto weight_cell = [&](Index key) {
        return own ? CellRef{Stage::weight, shown.row.query, key} : scale_cells::weight(r, key);
    };
    bars.clear();
    // The strongest, and the chosen one of a head's row.
    std::vector<Index> keys;
    double rest = 0;
    for (const Index key : shown.keys) {
        const float weight = rule.weights[static_cast<std::size_t>(key)];
        const bool chosen = row_->from.source.record && key == selection_of(drawing).key;
        if (keys.size() >= scale_keys_shown && !chosen) {
            rest += static_cast<double>(weight);
            continue;
        }
        keys.push_back(key);
        bars.push_back({shown.names[static_cast<std::size_t>(key)], weight,
                        fixed(static_cast<double>(weight), 4), lit(weight_cell(key)), false});
    }
    if (keys.size() < shown.keys.size())
        bars.push_back({std::to_string(shown.keys.size() - keys.size()) + " more", static_cast<float>(rest),
                        fixed(rest, 4), false, true});
    ImGui::Dummy({0, 2});
    const auto over = ui::bar_list("scale/row/" + number, rule.name + ", weights", width, bars, 1, scale);
    if (!over || *over >= std::ssize(keys)) return;
    const Index key = keys[static_cast<std::size_t>(*over)];
    if (row_->from.source.record) drawing.point(shown.row.query, key);
    answer_bar(over, weight_cell(key));
}

void ScaleLens::draw_curve(const Drawing& drawing, RowMeasure measure, float width) {
    static constexpr std::array names{"entropy", "largest", "gradient", "variance"};
    static constexpr std::array titles{"Entropy", "Largest weight", "What of a gradient passes",
                                       "Variance of the scaled scores, mean over seeds"};
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
                          .x = {"d_k", 1, static_cast<double>(scale_components_limit), true},
                          .y = of_variance ? decades(axes[m], drawn) : ui::ChartAxis{axes[m], 0, 1.06 * most},
                          .marked = static_cast<double>(now.components)};
    const ui::ChartReply reply =
        present::chart(drawing, chart, width, of_variance ? 300 : curve_height, drawn);
    std::optional<CellRef> cell;
    if (reply.over && reply.over->curve < scale_rules)
        cell = scale_cells::curve(measure, reply.over->curve, reply.over->point);
    answer(drawing, reply, cell);
}

}  // namespace attn::app
