#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "app/format.hpp"
#include "lenses/softmax/softmax.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::softmax {

namespace {

constexpr float curve_height = 172, queries_height = 190, left_share = 0.46f, gap_below = 10;
constexpr float measures_width = 310;

// Rounds to three digits, so that dragging the dial gives readable values.
double three_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return std::strtod(text, nullptr);
}

ui::ChartCurve curve_of(const char* name, std::size_t colour, const std::vector<Gibbs>& points,
                        const std::optional<Gibbs>& dial, double (*value)(const Gibbs&)) {
    ui::ChartCurve curve;
    curve.name = name;
    curve.colour = ui::series_colour(colour);
    bool placed = !dial;
    const auto add = [&](const Gibbs& gibbs) { curve.add(gibbs.temperature, value(gibbs)); };
    for (const Gibbs& point : points) {
        if (!placed && dial->temperature <= point.temperature) {
            placed = true;
            if (dial->temperature < point.temperature) add(*dial);
        }
        add(point);
    }
    return curve;
}

void set(const Drawing& drawing, State wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

void draw_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    State next = model.state;
    const double low = model.curves ? model.curves->low() : least_temperature,
                 high = model.curves ? model.curves->high() : most_temperature;
    const char* format = next.temperature == 0 ? "→ 0" : std::isinf(next.temperature) ? "→ ∞" : "%.3g";
    const ui::Row row("softmax/settings");
    ImGui::BeginGroup();
    if (const auto t = ui::slider("softmax/t", "temperature T", std::clamp(next.temperature, low, high), low,
                                  high, format, true))
        next.temperature = three_digits(*t);
    ImGui::EndGroup();
    if (ui::next_control(ui::need::named_choices)) {
        ImGui::BeginGroup();
        const auto preset = [&](const char* name, const char* label, std::optional<double> t,
                                const Status& possible) {
            if (ui::button(name, label, possible) && t) next.temperature = *t;
        };
        preset("softmax/zero", "T → 0", 0, ok());
        ImGui::SameLine(0, 6);
        preset("softmax/one", "T = 1", 1, ok());
        const auto peak = model.gibbs_at(GibbsPlace::peak);
        const bool searched = model.curves && model.curves->peak().done();
        ImGui::SameLine(0, 6);
        preset("softmax/peak", "peak of C", peak ? std::optional(peak->temperature) : std::nullopt,
               peak ? ok()
               : searched
                   ? Error{"All scores of this row are equal: its heat capacity is 0 at every temperature."}
                   : Error{"The peak is still being looked for."});
        ImGui::SameLine(0, 6);
        preset("softmax/infinity", "T → ∞", HUGE_VAL, ok());
        ImGui::EndGroup();
    }
    const Attention& attention = *subject.attention();
    if (attention.queries() > 1 && ui::next_control(ui::need::stepper)) {
        ImGui::BeginGroup();
        const Index last = attention.queries() - 1;
        if (const auto query =
                ui::stepper("softmax/query", "query", std::to_string(model.row.query),
                            {model.row.query - 1, model.row.query > 0 ? "" : "This is the first query."},
                            {model.row.query + 1, model.row.query < last ? "" : "This is the last query."},
                            {static_cast<double>(model.row.query), 0, static_cast<double>(last)}))
            parts::choose_tokens(drawing, *query, selection_of(drawing).key);
        ImGui::EndGroup();
    }
    set(drawing, next);
}

void draw_numbers(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    present::sheet(drawing, gibbs_sheet(model, subject), width);
    const double t = model.state.temperature;
    const std::string closing = t == 0 || std::isinf(t)
                                    ? "F = ⟨E⟩ − T·S at every temperature between the two limits."
                                    : "F = ⟨E⟩ − T·S: " + fixed(model.now.energy, 6) + " − " + fixed(t, 6) +
                                          " × " + fixed(model.now.entropy, 6) + " = " +
                                          fixed(model.now.energy - t * model.now.entropy, 6) +
                                          ", and −T ln Z = " + fixed(model.now.free_energy, 6) + ".";
    ui::caption(closing.c_str());
    ui::landmark_item("softmax/closing");
}

void draw_curves(const Model& model, const Drawing& drawing, float width) {
    const double low = model.curves->low(), high = model.curves->high(), t = model.state.temperature;
    const auto dial = t >= low && t <= high ? std::optional(model.now) : std::nullopt;
    const std::vector<Gibbs>& points = model.curves->points();
    const auto drawn = [&](const char* name, const char* title, ui::ChartAxis y,
                           std::vector<ui::ChartCurve> curves, std::initializer_list<GibbsNumber> numbers) {
        const ui::Chart chart{.name = name,
                              .title = title,
                              .x = {"temperature T", low, high, true},
                              .y = std::move(y),
                              .marked = std::clamp(t, low, high)};
        const ui::ChartReply reply = present::chart(drawing, chart, width, curve_height, curves);
        if (reply.held) {
            State next = model.state;
            next.temperature = three_digits(*reply.held);
            set(drawing, next);
        }
        if (!reply.over || reply.over->curve >= numbers.size()) return;
        // The curve's points are numbered; the dial's are those of the table.
        const GibbsNumber number = numbers.begin()[reply.over->curve];
        const double there = curves[reply.over->curve].x[reply.over->point];
        CellRef cell = cells::gibbs(number, GibbsPlace::dial);
        const auto point = std::ranges::find(points, there, &Gibbs::temperature);
        if (point != points.end())
            cell = cells::curve(number, model.curves->first() + (point - points.begin()));
        drawing.now.cell = cell;
        if (reply.clicked) present::pin(drawing, cell);
    };
    const auto of = [&](const char* name, std::size_t colour, double (*value)(const Gibbs&)) {
        return curve_of(name, colour, points, dial, value);
    };
    std::vector<ui::ChartCurve> energies{of("⟨E⟩", 0, [](const Gibbs& g) { return g.energy; })};
    // F falls without bound; the axis covers the range of ⟨E⟩, and as much again below it.
    ui::ChartAxis energy = ui::fitted("energy, in units of the scores", energies, false);
    energy.low -= energy.high - energy.low;
    energies.push_back(of("F", 1, [](const Gibbs& g) { return g.free_energy; }));
    drawn("softmax-energy", "Mean and free energy", energy, energies,
          {GibbsNumber::energy, GibbsNumber::free_energy});

    std::vector<ui::ChartCurve> entropies{of("S", 2, [](const Gibbs& g) { return g.entropy; })};
    ui::ChartCurve most;
    most.name = "ln " + std::to_string(model.curves->levels().keys) + ", all keys alike";
    most.colour = ui::theme().dim;
    most.dashed = true;
    most.x = {low, high};
    most.y.assign(2, std::log(static_cast<double>(model.curves->levels().keys)));
    entropies.push_back(std::move(most));
    const ui::ChartAxis entropy = ui::fitted("entropy, nats", entropies, true);
    drawn("softmax-entropy", "Entropy", entropy, entropies, {GibbsNumber::entropy});

    std::vector<ui::ChartCurve> capacities{of("C", 3, [](const Gibbs& g) { return g.heat_capacity; })};
    if (const auto peak = model.curves->peak().peak()) {
        ui::ChartCurve top;
        top.name = "peak, " + temperature_text(peak->temperature);
        top.colour = ui::series_colour(5);
        top.points = true;
        top.x = {peak->temperature};
        top.y = {peak->heat_capacity};
        capacities.push_back(std::move(top));
    }
    const ui::ChartAxis capacity = ui::fitted("heat capacity, nats", capacities, true);
    drawn("softmax-capacity", "Heat capacity", capacity, capacities, {GibbsNumber::heat_capacity});
}

void draw_queries(const Model& model, const Drawing& drawing, const Attention& attention, float width) {
    if (!model.queries || attention.queries() < 2) return;
    // The query in view may lie between those that were chosen evenly.
    std::vector<EffectiveKeys::Row> rows = model.queries->rows();
    if (const auto at = std::ranges::lower_bound(rows, model.row.query, {}, &EffectiveKeys::Row::query);
        model.curves && (at == rows.end() || at->query != model.row.query))
        rows.insert(at, {model.row.query, model.curves->levels().keys, model.now.effective_keys()});
    ui::ChartCurve used, seen;
    used.name = "e^S";
    used.colour = ui::series_colour(0);
    used.points = rows.size() <= 32;
    seen.name = "keys in sight";
    seen.colour = ui::theme().dim;
    seen.dashed = true;
    double most_used = 0, most_seen = 0;
    for (const EffectiveKeys::Row& row : rows) {
        used.add(static_cast<double>(row.query), row.effective);
        seen.add(static_cast<double>(row.query), static_cast<double>(row.seen));
        most_used = std::max(most_used, row.effective);
        most_seen = std::max(most_seen, static_cast<double>(row.seen));
    }
    // If a row uses few of very many keys, the axis shows only these few.
    constexpr double most_above = 3;
    const double top = std::max(1.05 * std::min(most_seen, most_above * most_used), 1.0);
    const ui::Chart chart{.name = "softmax-queries",
                          .title = "Effective keys, query by query",
                          .x = {"query", 0, static_cast<double>(attention.queries() - 1), false, true},
                          .y = {"keys", 0, top, false, true},
                          .marked = static_cast<double>(model.row.query)};
    const std::array curves{used, seen};
    const ui::ChartReply reply = present::chart(drawing, chart, width, queries_height, curves);
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != model.row.query)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    if (!reply.over || reply.over->curve != 0) return;
    const CellRef cell = cells::query(rows[reply.over->point].query);
    drawing.now.cell = cell;
    if (reply.clicked) present::pin(drawing, cell);
}

void draw_maps(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    ui::section("Beside softmax", true);
    State next = model.state;
    if (model.with_values) {
        static constexpr std::array<const char*, 2> names{"weights", "outputs"};
        ui::next_control(ui::need::choices);
        if (const auto chosen = ui::choice("softmax/shown", names, static_cast<int>(next.shown))) {
            next.shown = static_cast<Shown>(*chosen);
            set(drawing, next);
        }
    }
    // The larger sheet comes first, with its sums beside it.
    const bool outputs = model.with_values && next.shown == Shown::outputs,
               beside = width >= ui::two_unequal_columns;
    ImGui::BeginGroup();
    present::sheet(drawing, outputs ? outputs_sheet(model, subject) : weights_sheet(model, subject),
                   beside ? width - measures_width - ui::column_gap : width);
    ImGui::EndGroup();
    if (drawing.now.cell && drawing.now.cell->is(cells::weight))
        drawing.point(model.row.query, drawing.now.cell->own()->at[1]);
    if (beside) ImGui::SameLine(0, ui::column_gap);
    ImGui::BeginGroup();
    present::sheet(drawing, measures_sheet(model, subject), beside ? measures_width : width);
    ImGui::EndGroup();
    if (!model.with_vectors)
        ui::caption("Linear attention is made of q and k, and here the scores were given.");
    if (model.state.temperature == 0 && model.curves->levels().highest > 0)
        ui::caption("Toward T = 0, ReLU² grows without end where a score is positive.");
}

void draw_heads(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    if (attention.layers() * attention.heads() < 2) return;
    ui::section("All heads");
    const std::string sampled =
        attention.queries() > HeadKeys::rows_a_head
            ? " Over " + std::to_string(HeadKeys::rows_a_head) + " evenly spaced queries."
            : "";
    ui::caption(
        ("How many of the keys in sight a head uses: the mean of e^S over the keys that each query may see. "
         "Click a head to look at it." +
         sampled)
            .c_str());
    if (const auto clicked = present::sheet(drawing, heads_sheet(model, subject), width))
        parts::choose_head(drawing, {clicked->first, clicked->second});
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    const Attention& attention = *subject.attention();
    while (!drawing.deadline.passed() && model.step(attention)) continue;
    ui::hint(
        "Drag the temperature: toward 0 only the best key is left, and far up all keys count the same. T = 1 "
        "is the "
        "head as it is.");
    if (ui::settings()) draw_controls(model, drawing, subject);
    model.update(drawing.visit, subject);
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    if (model.curves) {
        while (model.maps->step(model.curves->levels()) && !drawing.deadline.passed()) continue;
        const float left = beside ? std::floor((width - ui::column_gap) * left_share) : width;
        ui::column("numbers", left, [&](float w) {
            draw_numbers(model, drawing, subject, w);
            ImGui::Dummy({0, gap_below});
            draw_queries(model, drawing, attention, w);
        });
        if (beside) ImGui::SameLine(0, ui::column_gap);
        ui::column("curves", beside ? width - left - ui::column_gap : width,
                   [&](float w) { draw_curves(model, drawing, w); });
        ImGui::Dummy({0, gap_below});
        draw_maps(model, drawing, subject, width);
    } else {
        ui::paragraph(model.refused, ui::theme().text);
        ui::landmark_item("softmax/refused");
        draw_queries(model, drawing, attention, width);
    }
    ImGui::Dummy({0, gap_below});
    draw_heads(model, drawing, subject, width);
    if (model.step(attention))
        drawing.visit.continue_with([&model, &subject, key = model.key(), of = model.heads_of] {
            const Attention* now = subject.attention();
            return now && now->version() == of.version && model.key() == key && model.heads_of == of &&
                   model.step(*now);
        });
}

}  // namespace attn::app::softmax
