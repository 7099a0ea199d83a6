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

namespace attn::app {

namespace {

constexpr float chart_height = 300, least_chart = 320, least_curve = 270;

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

}  // namespace

void ScaleLens::set_components(const ui::ChartReply& reply) {
    if (!reply.held) return;
    ScaleState scale = state().of<ScaleState>();
    scale.components =
        std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{1}, scale_components_limit);
    if (scale != state().of<ScaleState>()) visit().perform(SetScale{scale}, ui::gesture());
}

void ScaleLens::draw_presets() {
    const auto presets = scale_presets();
    const ScaleState& now = state().of<ScaleState>();
    std::vector<const char*> titles;
    int taken = -1;
    for (const ScalePreset& preset : presets) {
        if (preset.from(now) == now) taken = static_cast<int>(titles.size());
        titles.push_back(preset.title);
    }
    ui::label("examples");
    ImGui::BeginGroup();
    if (const auto chosen = ui::choice("scale/preset", titles, taken))
        visit().perform(SetScale{presets[static_cast<std::size_t>(*chosen)].from(now)});
    ImGui::EndGroup();
}

void ScaleLens::draw_controls(Subject& subject) {
    ScaleState scale = state().of<ScaleState>();
    const std::optional<std::string> without = without_vectors(subject);
    static constexpr std::array<const char*, 2> names{"seeded normal", "of this head"};
    ImGui::BeginGroup();
    ui::label("q and k");
    ImGui::BeginDisabled(without.has_value());
    if (const auto chosen = ui::choice("scale/vectors", names, without ? 0 : static_cast<int>(scale.vectors)))
        scale.vectors = static_cast<ScaleVectors>(*chosen);
    ImGui::EndDisabled();
    ImGui::EndGroup();
    const Source shown = source(subject);
    const Index most = shown.record ? shown.record->d_k() : scale_components_limit;
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto d = ui::slider("scale/d", "d_k", static_cast<double>(std::min(scale.components, most)), 1,
                                  static_cast<double>(most), "%.0f", true))
        scale.components = std::clamp(static_cast<Index>(std::lround(*d)), Index{1}, most);
    ImGui::EndGroup();
    if (!shown.record) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto seed = ui::stepper("scale/seed", "seed", static_cast<Index>(scale.seed), 0, 999'999))
            scale.seed = static_cast<std::uint32_t>(*seed);
        ImGui::EndGroup();
    }
    if (without) {
        ui::caption(without->c_str());
        ui::landmark_item("scale/without");
    }
    if (scale != state().of<ScaleState>()) visit().perform(SetScale{scale}, ui::gesture());
}

void ScaleLens::draw_histogram(const Drawing& drawing, Subject& subject, float width) {
    const ui::Theme& t = ui::theme();
    const ScaleHistogram& all = histogram(subject);
    const DotProducts& counted = products_->what;
    const bool of_head = products_->from.source.record != nullptr;
    ui::ChartCurve bars{
        .name = of_head ? "this head" : "counted", .colour = ui::with_alpha(t.accent, 0.6f), .bars = true};
    for (Index bin = 0; bin < ScaleHistogram::bins; ++bin) {
        const auto at = static_cast<std::size_t>(bin);
        bars.x.push_back((all.edge(bin) + all.edge(bin + 1)) / 2);
        bars.y.push_back(static_cast<double>(all.counts[at]));
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
    present::chart(drawing, chart, width, chart_height, curves, cell_of_first(scale_cells::histogram));

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

void ScaleLens::draw_grown(const Drawing& drawing, const ComponentVariances& of, float width) {
    const Index d = of.components();
    ui::ChartCurve measured{.name = "this head", .colour = ui::theme().accent},
        alone{.name = "Σ of each alone", .colour = ui::theme().changed};
    double own = 0;
    for (Index a = 0; a < d; ++a) {
        measured.x.push_back(static_cast<double>(a + 1));
        measured.y.push_back(of.of_first(a + 1));
        alone.y.push_back(own += of.own(a));
    }
    alone.x = measured.x;
    const std::array curves{measured, alone, dashed("standard normal", measured.x, measured.x)};
    const ui::Chart chart{.name = "grown",
                          .title = "Variance over the first components",
                          .x = {"components", 1, std::max(static_cast<double>(d), 2.0), false, true},
                          .y = ui::fitted("variance of q · k", curves, true),
                          .marked = static_cast<double>(std::min(state().of<ScaleState>().components, d))};
    set_components(present::chart(drawing, chart, width, chart_height, curves,
                                  cell_of_first(scale_cells::cumulative_variance, 1)));
    ui::caption("Between the two curves are the covariances of the products.");
}

void ScaleLens::draw_components(const Drawing& drawing, const ComponentVariances& of, float width) {
    const auto d = static_cast<double>(of.components());
    ui::ChartCurve bars{.name = "q_a k_a", .colour = ui::with_alpha(ui::theme().accent, 0.6f), .bars = true};
    for (Index a = 0; a < of.components(); ++a) {
        bars.x.push_back(static_cast<double>(a));
        bars.y.push_back(of.own(a));
    }
    const std::array curves{bars, dashed("standard normal", bars.x, std::vector(bars.x.size(), 1.0))};
    const ui::Chart chart{.name = "components",
                          .title = "Variance of each component’s product",
                          .x = {"component a", -0.5, d - 0.5, false, true},
                          .y = ui::fitted("variance of q_a k_a", curves, true)};
    present::chart(drawing, chart, width, chart_height, curves,
                   cell_of_first(scale_cells::component_variance));
    ui::caption(("Over " + with_commas(of.counted()) + " pairs that the mask allows.").c_str());
}

void ScaleLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    const ComponentVariances* of_head = variances(subject);
    ui::hint(of_head ? "Look at a row with its scale left out or doubled, and at which components its "
                       "scores come from."
                     : "Drag d_k up: the scores spread, and without a scale softmax puts everything on "
                       "one key.");
    if (ui::settings()) {
        draw_presets();
        draw_controls(subject);
    }
    ImGui::Dummy({0, 6});
    const auto histogram = [&](float width) { draw_histogram(drawing, subject, width); };
    if (of_head) {
        ui::columns("scale/head", least_chart, present::card_gap, histogram,
                    [&](float width) { draw_grown(drawing, *of_head, width); });
        draw_rules(drawing, subject);
        draw_components(drawing, *of_head, ImGui::GetContentRegionAvail().x);
    } else {
        const auto curve = [&](RowMeasure measure) {
            return [this, &drawing, measure](float width) { draw_curve(drawing, measure, width); };
        };
        ui::columns("scale/normal", least_chart, present::card_gap, histogram, curve(RowMeasure::variance));
        draw_rules(drawing, subject);
        ui::section("The same over d_k");
        const Index seeds = curves().seeds_done();
        ui::caption((many(ScaleCurves::seeds, "seed") +
                     ": their mean, and a band without the lowest and the highest tenth." +
                     (seeds < ScaleCurves::seeds ? " " + std::to_string(seeds) + " are drawn so far." : ""))
                        .c_str());
        ui::columns("scale/curves", least_curve, present::card_gap, curve(RowMeasure::entropy),
                    curve(RowMeasure::largest), curve(RowMeasure::gradient));
        if (!curves_->what.done())
            drawing.visit.continue_with(
                [this, from = curves_->from] { return curves_->from == from && curves_->what.step(); });
    }
    if (!products_->what.done())
        drawing.visit.continue_with(
            [this, from = products_->from] { return products_->from == from && products_->what.step(); });
    if (of_head && !of_head->done())
        drawing.visit.continue_with(
            [this, from = variances_->from] { return variances_->from == from && variances_->what.step(); });
}

}  // namespace attn::app
