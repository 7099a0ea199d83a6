// Draws the lens's opening part, and its gauge.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::geometry {

void set(const Drawing& drawing, const State& next, std::uint64_t gesture) {
    if (next != drawing.state().of<State>()) drawing.visit.perform(Set<State>{next}, gesture);
}

void draw_sheets(const Drawing& drawing, const std::vector<Sheet>& sheets, const present::Picture& first) {
    std::vector<present::Picture> pictures;
    if (first) pictures.push_back(first);
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) { present::sheet(drawing, sheet, width); });
    present::in_columns(pictures, least_column);
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.record) return;
    const ui::TightLabels tight;
    ui::hint(
        "Take a rotation and drag t: Q and K turn, and no score moves. Then see what the form reads, bend it "
        "with a "
        "metric, or type a sum of your own.");
    if (ui::settings()) {
        {
            const ui::Row tries("geometry/try", ui::to_try);
            for (const Preset& preset : presets())
                if (ui::next_button(preset.title) && ui::button(preset.name, preset.title))
                    set(drawing, preset.from(model.state));
        }
        const ui::Row row("geometry/settings");
        static constexpr std::array parts{"bilinear form", "gauge", "metric", "einsum"};
        State next = drawing.state().of<State>();
        if (const auto chosen = ui::choice("geometry/part", parts, static_cast<int>(next.part))) {
            next.part = static_cast<Part>(*chosen);
            set(drawing, next);
        }
        model.update(drawing.visit, subject);
        if (model.state.part == Part::form) draw_form_controls(model, drawing);
    }
    switch (model.state.part) {
        case Part::form: return draw_form(model, drawing, subject);
        case Part::gauge: return draw_gauge(model, drawing, subject);
        case Part::metric: return draw_metric(model, drawing, subject);
        case Part::einsum: return draw_einsum(model, drawing, subject);
    }
}

// ---- The gauge --------------------------------------------------------------------------------------------

namespace {

constexpr float plane_height = 330;

void draw_gauge_controls(Model& model, const Drawing& drawing) {
    const Gauge& shown = model.gauged().gauge;
    State next = model.state;
    Gauge& gauge = next.gauge;
    static constexpr std::array kinds{"rotation", "stretch", "shear", "mix"};
    const Index last = model.record->d_k() - 1;
    ImGui::BeginGroup();
    if (const auto kind = ui::choice("geometry/kind", kinds, static_cast<int>(shown.kind)))
        gauge.kind = static_cast<GaugeKind>(*kind);
    ImGui::EndGroup();
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto t = ui::slider("geometry/t", "t", gauge.t, -gauge_reach, gauge_reach, "%.2f"))
        gauge.t = std::clamp(std::round(*t * 100) / 100, -gauge_reach, gauge_reach);
    ImGui::EndGroup();
    if (shown.kind == GaugeKind::mix) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto seed =
                ui::stepper("geometry/seed", "seed", static_cast<Index>(gauge.seed), 0, 999'999))
            gauge.seed = static_cast<std::uint32_t>(*seed);
        ImGui::EndGroup();
    } else if (last > 0) {
        const auto component = [&](const char* name, const char* label, Index& one, Index other) {
            ui::next_control(ui::need::stepper);
            ImGui::BeginGroup();
            if (const auto to = ui::stepper(name, label, one, 0, last)) {
                // Skips the other component.
                const Index over = *to == other ? *to + (*to > one ? 1 : -1) : *to;
                if (over >= 0 && over <= last) one = over;
            }
            ImGui::EndGroup();
        };
        gauge.first = shown.first;
        gauge.second = shown.second;
        component("geometry/first", "component", gauge.first, gauge.second);
        component("geometry/second", shown.kind == GaugeKind::stretch ? "plotted with" : "with", gauge.second,
                  gauge.first);
        // A value that was only fitted to these vectors is not a change.
        if (gauge.first == shown.first && gauge.second == shown.second)
            gauge.first = model.state.gauge.first, gauge.second = model.state.gauge.second;
    }
    set(drawing, next, ui::gesture());
}

// Draws Q and K as points over two components, before and after the gauge.
void draw_plane(Model& model, const Drawing& drawing, const Attention& attention, float width) {
    const GaugedScores& scores = model.gauged();
    const auto [first, second] = std::pair(scores.gauge.first, scores.gauge.second);
    double reach = 0;
    // Both stay visible if a key lies on a query.
    const auto points = [&](const char* name, ImU32 colour, float radius, const DenseMatrix& rows,
                            const ShownTokens& shown, std::span<const std::string> names) {
        ui::ChartCurve curve{.name = name, .colour = colour, .apart = true, .radius = radius};
        for (Index r = 0; r < rows.rows; ++r) {
            curve.add(rows(r, first), rows.cols > 1 ? rows(r, second) : 0);
            curve.notes.push_back(label_at(names, shown[r]));
            for (const double each : {curve.x.back(), curve.y.back()})
                if (std::isfinite(each)) reach = std::max(reach, std::abs(each));
        }
        return curve;
    };
    const auto queries = [&](const char* name, const QueriesAndKeys& of, float alpha) {
        return points(name, ui::with_alpha(ui::series_colour(0), alpha), 6, of.q, model.queries,
                      attention.query_names());
    };
    const auto keys = [&](const char* name, const QueriesAndKeys& of, float alpha) {
        return points(name, ui::with_alpha(ui::series_colour(1), alpha), 3, of.k, model.keys,
                      attention.key_names());
    };
    const std::array curves{queries("q before", scores.own, 0.35f), keys("k before", scores.own, 0.35f),
                            queries("q G", scores.moved, 1), keys("k G⁻ᵀ", scores.moved, 1)};
    reach = reach > 0 ? 1.1 * reach : 1;
    const ui::Chart chart{.name = "plane",
                          .title = "Queries and keys in the plane of two components",
                          .x = {"component " + std::to_string(first), -reach, reach},
                          .y = {"component " + std::to_string(second), -reach, reach}};
    present::chart(drawing, chart, width, plane_height, curves,
                   [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                       const bool of_keys = curve % 2 == 1;
                       const Index row = (of_keys ? model.keys : model.queries)[static_cast<Index>(point)];
                       if (curve < 2) return RunCell{of_keys ? Stage::k : Stage::q, row, first};
                       return (of_keys ? cells::gauged_key : cells::gauged_query)(row, first);
                   });
}

}  // namespace

void draw_gauge(Model& model, const Drawing& drawing, Subject& subject) {
    draw_gauge_controls(model, drawing);
    model.update(drawing.visit, subject);
    const GaugedScores& scores = model.gauged();
    ImGui::Dummy({0, 4});
    if (scores.finite) {
        const auto number = [](double x) { return fixed(x, 3); };
        ui::caption(("The largest change of a score in view: " + number(scores.off) + " in double, " +
                     number(scores.off32) + " in single precision, which may be up to " +
                     number(scores.bound) + " off under a G of condition " +
                     number(scores.matrices.condition) + "; without G it is " + number(scores.plain_off32) +
                     " off.")
                        .c_str());
        ui::landmark_item("geometry/error");
    }
    if (const auto& w = model.weights; w && (w->rotated || w->normalised))
        ui::caption(
            w->rotated
                ? "Positions turn q and k after W_Q and W_K here, so this G acts behind that turn, "
                  "not in the weights."
                : "Norms come after W_Q and W_K here, so this G acts behind them, not in the weights.");
    ImGui::Dummy({0, 6});
    draw_sheets(drawing, gauge_sheets(model, subject),
                [&](float width) { draw_plane(model, drawing, *subject.attention(), width); });
}

}  // namespace attn::app::geometry
