// Draws the lens's opening part, and its gauge.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/geometry/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float plane_height = 330;

}  // namespace

void GeometryLens::draw_presets() {
    for (const GeometryPreset& preset : geometry_presets()) {
        if (&preset != geometry_presets().data()) ui::next_button(preset.title);
        if (ui::button(preset.name, preset.title)) set(preset.from(now()));
    }
}

void GeometryLens::draw(const Drawing& drawing, Subject& subject) {
    if (!record(subject)) return;
    const ui::TightLabels tight;
    ui::hint(
        "Take a rotation and drag t: Q and K turn, and no score moves. Then see what the form reads, bend it "
        "with a "
        "metric, or type a sum of your own.");
    if (ui::settings()) {
        draw_presets();
        ImGui::Dummy({0, 2});
        static constexpr std::array parts{"bilinear form", "gauge", "metric", "einsum"};
        if (const auto chosen = ui::choice("geometry/part", parts, static_cast<int>(now().part))) {
            GeometryState next = now();
            next.part = static_cast<GeometryPart>(*chosen);
            set(next);
        }
    }
    ImGui::Dummy({0, 4});
    switch (now().part) {
        case GeometryPart::form: return draw_form(drawing, subject);
        case GeometryPart::gauge: return draw_gauge(drawing, subject);
        case GeometryPart::metric: return draw_metric(drawing, subject);
        case GeometryPart::einsum: return draw_einsum(drawing, subject);
    }
}

// ---- The gauge --------------------------------------------------------------------------------------------

void GeometryLens::draw_gauge_controls(const GaugedHead& head) {
    GeometryState next = now();
    Gauge& gauge = next.gauge;
    static constexpr std::array kinds{"rotation", "stretch", "shear", "mix"};
    const Index last = head.in_view.record->d_k() - 1;
    ImGui::BeginGroup();
    if (const auto kind = ui::choice("geometry/kind", kinds, static_cast<int>(head.gauge.kind)))
        gauge.kind = static_cast<GaugeKind>(*kind);
    ImGui::EndGroup();
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto t = ui::slider("geometry/t", "t", gauge.t, -gauge_reach, gauge_reach, "%.2f"))
        gauge.t = std::clamp(std::round(*t * 100) / 100, -gauge_reach, gauge_reach);
    ImGui::EndGroup();
    if (head.gauge.kind == GaugeKind::mix) {
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
        gauge.first = head.gauge.first;
        gauge.second = head.gauge.second;
        component("geometry/first", "component", gauge.first, gauge.second);
        component("geometry/second", head.gauge.kind == GaugeKind::stretch ? "plotted with" : "with",
                  gauge.second, gauge.first);
        // A value that was only fitted to these vectors is not a change.
        if (gauge.first == head.gauge.first && gauge.second == head.gauge.second)
            gauge.first = now().gauge.first, gauge.second = now().gauge.second;
    }
    set(next, ui::gesture());
}

// Draws Q and K as points over two components, before and after the gauge.
void GeometryLens::draw_plane(const Drawing& drawing, Subject& subject, const GaugedHead& head, float width) {
    const Attention& attention = *subject.attention();
    const Record& record = *head.in_view.record;
    const auto [first, second] = std::pair(head.gauge.first, head.gauge.second);
    const Index d = record.d_k();
    const Matrix q = rows_of(record.q(), head.in_view.head, head.in_view.queries.tokens()),
                 k = rows_of(record.k(), record.kv_head(head.in_view.head), head.in_view.keys.tokens());
    double reach = 0;
    // Both stay visible if a key lies on a query.
    const auto points = [&](const char* name, ImU32 colour, float radius, const Matrix& rows,
                            const ShownTokens& shown, std::span<const std::string> names) {
        ui::ChartCurve curve{.name = name, .colour = colour, .apart = true, .radius = radius};
        for (Index r = 0; r < rows.rows; ++r) {
            curve.x.push_back(rows.at(r, first));
            curve.y.push_back(d > 1 ? rows.at(r, second) : 0);
            curve.notes.push_back(label_at(names, shown[r]));
            for (const double each : {curve.x.back(), curve.y.back()})
                if (std::isfinite(each)) reach = std::max(reach, std::abs(each));
        }
        return curve;
    };
    const ImU32 of_q = ui::series_colour(0), of_k = ui::series_colour(1);
    const std::array curves{
        points("q before", ui::with_alpha(of_q, 0.35f), 6, q, head.in_view.queries, attention.query_names()),
        points("k before", ui::with_alpha(of_k, 0.35f), 3, k, head.in_view.keys, attention.key_names()),
        points("q G", of_q, 6, head.q, head.in_view.queries, attention.query_names()),
        points("k G⁻ᵀ", of_k, 3, head.k, head.in_view.keys, attention.key_names())};
    reach = reach > 0 ? 1.1 * reach : 1;
    const ui::Chart chart{.name = "plane",
                          .title = "Queries and keys in the plane of two components",
                          .x = {"component " + std::to_string(first), -reach, reach},
                          .y = {"component " + std::to_string(second), -reach, reach}};
    present::chart(
        drawing, chart, width, plane_height, curves,
        [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
            const bool of_keys = curve % 2 == 1;
            const Index row = (of_keys ? head.in_view.keys : head.in_view.queries)[static_cast<Index>(point)];
            if (curve < 2) return CellRef{of_keys ? Stage::k : Stage::q, row, first};
            return (of_keys ? geometry_cells::gauged_key : geometry_cells::gauged_query)(row, first);
        });
}

void GeometryLens::draw_gauge(const Drawing& drawing, Subject& subject) {
    draw_gauge_controls(*gauged(subject));
    const GaugedHead& head = *gauged(subject);
    ImGui::Dummy({0, 4});
    if (head.finite) {
        const auto number = [](double x) { return fixed(x, 3); };
        ui::caption(("The largest change of a score in view: " + number(head.off) + " in double, " +
                     number(head.off32) + " in single precision, which may be up to " + number(head.bound) +
                     " off under a G of condition " + number(head.matrices.condition) + "; without G it is " +
                     number(head.plain_off32) + " off.")
                        .c_str());
        ui::landmark_item("geometry/error");
    }
    if (const auto& w = weights(subject); w && (w->turned || w->normalised))
        ui::caption(
            w->turned ? "Positions turn q and k after W_Q and W_K here, so this G acts behind that turn, "
                        "not in the weights."
                      : "Norms come after W_Q and W_K here, so this G acts behind them, not in the weights.");
    ImGui::Dummy({0, 6});
    std::vector<present::Picture> pictures{[&](float width) { draw_plane(drawing, subject, head, width); }};
    const std::vector<Sheet> sheets = gauge_sheets(subject);
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) { present::sheet(drawing, sheet, width); });
    present::in_columns(pictures, least_column);
}

}  // namespace attn::app
