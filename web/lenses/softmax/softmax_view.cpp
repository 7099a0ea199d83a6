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

namespace attn::app {

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
    const auto add = [&](const Gibbs& gibbs) {
        curve.x.push_back(gibbs.temperature);
        curve.y.push_back(value(gibbs));
    };
    for (const Gibbs& point : points) {
        if (!placed && dial->temperature <= point.temperature) {
            placed = true;
            if (dial->temperature < point.temperature) add(*dial);
        }
        add(point);
    }
    return curve;
}

}  // namespace

void SoftmaxLens::set(SoftmaxState wanted) const {
    if (wanted != state().of<SoftmaxState>()) visit().perform(SetSoftmax{wanted}, ui::gesture());
}

void SoftmaxLens::draw_controls(const Drawing& drawing, Subject& subject) {
    SoftmaxState softmax = state().of<SoftmaxState>();
    const double low = curves_ ? curves_->low() : least_temperature,
                 high = curves_ ? curves_->high() : most_temperature;
    const char* format = softmax.temperature == 0 ? "→ 0" : std::isinf(softmax.temperature) ? "→ ∞" : "%.3g";
    ImGui::BeginGroup();
    if (const auto t = ui::slider("softmax/t", "temperature T", std::clamp(softmax.temperature, low, high),
                                  low, high, format, true))
        softmax.temperature = three_digits(*t);
    ImGui::EndGroup();
    ui::next_control(ui::need::named_choices);
    ImGui::BeginGroup();
    const auto preset = [&](const char* name, const char* label, std::optional<double> t,
                            const Status& possible) {
        if (ui::button(name, label, possible) && t) softmax.temperature = *t;
    };
    preset("softmax/zero", "T → 0", 0, ok());
    ImGui::SameLine(0, 6);
    preset("softmax/one", "T = 1", 1, ok());
    const auto peak = gibbs_at(GibbsPlace::peak);
    const bool searched = curves_ && curves_->peak().done();
    ImGui::SameLine(0, 6);
    preset("softmax/peak", "peak of C", peak ? std::optional(peak->temperature) : std::nullopt,
           peak ? ok()
           : searched
               ? Error{"All scores of this row are equal: its heat capacity is 0 at every temperature."}
               : Error{"The peak is still being looked for."});
    ImGui::SameLine(0, 6);
    preset("softmax/infinity", "T → ∞", HUGE_VAL, ok());
    ImGui::EndGroup();
    const Attention& attention = *subject.attention();
    if (attention.queries() > 1) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        const Index last = attention.queries() - 1;
        if (const auto query =
                ui::stepper("softmax/query", "query", std::to_string(row_.query),
                            {row_.query - 1, row_.query > 0 ? "" : "This is the first query."},
                            {row_.query + 1, row_.query < last ? "" : "This is the last query."},
                            {static_cast<double>(row_.query), 0, static_cast<double>(last)}))
            parts::choose_tokens(drawing, *query, selection_of(drawing).key);
        ImGui::EndGroup();
    }
    set(softmax);
}

void SoftmaxLens::draw_numbers(const Drawing& drawing, Subject& subject, float width) {
    present::sheet(drawing, gibbs_sheet(subject), width);
    const double t = temperature();
    const std::string closing = t == 0 || std::isinf(t)
                                    ? "F = ⟨E⟩ − T·S at every temperature between the two limits."
                                    : "F = ⟨E⟩ − T·S: " + fixed(now_.energy, 6) + " − " + fixed(t, 6) +
                                          " × " + fixed(now_.entropy, 6) + " = " +
                                          fixed(now_.energy - t * now_.entropy, 6) +
                                          ", and −T ln Z = " + fixed(now_.free_energy, 6) + ".";
    ui::caption(closing.c_str());
    ui::landmark_item("softmax/closing");
}

void SoftmaxLens::draw_curves(const Drawing& drawing, float width) {
    const double low = curves_->low(), high = curves_->high(), t = temperature();
    const auto dial = t >= low && t <= high ? std::optional(now_) : std::nullopt;
    const std::vector<Gibbs>& points = curves_->points();
    const auto drawn = [&](const char* name, const char* title, ui::ChartAxis y,
                           std::vector<ui::ChartCurve> curves, std::initializer_list<GibbsNumber> numbers) {
        const ui::Chart chart{.name = name,
                              .title = title,
                              .x = {"temperature T", low, high, true},
                              .y = std::move(y),
                              .marked = std::clamp(t, low, high)};
        const ui::ChartReply reply = present::chart(drawing, chart, width, curve_height, curves);
        if (reply.held) {
            SoftmaxState softmax = state().of<SoftmaxState>();
            softmax.temperature = three_digits(*reply.held);
            set(softmax);
        }
        if (!reply.over || reply.over->curve >= numbers.size()) return;
        // The curve's points are numbered; the dial's are those of the table.
        const GibbsNumber number = numbers.begin()[reply.over->curve];
        const double there = curves[reply.over->curve].x[reply.over->point];
        CellRef cell = softmax_cells::gibbs(number, GibbsPlace::dial);
        const auto point = std::ranges::find(points, there, &Gibbs::temperature);
        if (point != points.end())
            cell = softmax_cells::curve(number, curves_->first() + (point - points.begin()));
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
    most.name = "ln " + std::to_string(curves_->levels().keys) + ", all keys alike";
    most.colour = ui::theme().dim;
    most.dashed = true;
    most.x = {low, high};
    most.y.assign(2, std::log(static_cast<double>(curves_->levels().keys)));
    entropies.push_back(std::move(most));
    const ui::ChartAxis entropy = ui::fitted("entropy, nats", entropies, true);
    drawn("softmax-entropy", "Entropy", entropy, entropies, {GibbsNumber::entropy});

    std::vector<ui::ChartCurve> capacities{of("C", 3, [](const Gibbs& g) { return g.heat_capacity; })};
    if (const auto peak = curves_->peak().peak()) {
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

void SoftmaxLens::draw_queries(const Drawing& drawing, const Attention& attention, float width) {
    if (!queries_ || attention.queries() < 2) return;
    // The query in view may lie between those that were chosen evenly.
    std::vector<EffectiveKeys::Row> rows = queries_->rows();
    if (const auto at = std::ranges::lower_bound(rows, row_.query, {}, &EffectiveKeys::Row::query);
        curves_ && (at == rows.end() || at->query != row_.query))
        rows.insert(at, {row_.query, curves_->levels().keys, now_.effective_keys()});
    ui::ChartCurve used, seen;
    used.name = "e^S";
    used.colour = ui::series_colour(0);
    used.points = rows.size() <= 32;
    seen.name = "keys in sight";
    seen.colour = ui::theme().dim;
    seen.dashed = true;
    double most_used = 0, most_seen = 0;
    for (const EffectiveKeys::Row& row : rows) {
        used.x.push_back(static_cast<double>(row.query));
        used.y.push_back(row.effective);
        seen.x.push_back(static_cast<double>(row.query));
        seen.y.push_back(static_cast<double>(row.seen));
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
                          .marked = static_cast<double>(row_.query)};
    const std::array curves{used, seen};
    const ui::ChartReply reply = present::chart(drawing, chart, width, queries_height, curves);
    if (reply.held)
        if (const auto query = static_cast<Index>(std::lround(*reply.held)); query != row_.query)
            parts::choose_tokens(drawing, query, selection_of(drawing).key);
    if (!reply.over || reply.over->curve != 0) return;
    const CellRef cell = softmax_cells::query(rows[reply.over->point].query);
    drawing.now.cell = cell;
    if (reply.clicked) present::pin(drawing, cell);
}

void SoftmaxLens::draw_maps(const Drawing& drawing, Subject& subject, float width) {
    ui::section("Beside softmax", true);
    SoftmaxState softmax = state().of<SoftmaxState>();
    if (with_values_) {
        static constexpr std::array<const char*, 2> names{"weights", "outputs"};
        ui::next_control(ui::need::choices);
        if (const auto chosen = ui::choice("softmax/shown", names, static_cast<int>(softmax.shown))) {
            softmax.shown = static_cast<SoftmaxShown>(*chosen);
            set(softmax);
        }
    }
    // The larger sheet comes first, with its sums beside it.
    const bool outputs = with_values_ && softmax.shown == SoftmaxShown::outputs,
               beside = width >= ui::two_unequal_columns;
    ImGui::BeginGroup();
    present::sheet(drawing, outputs ? outputs_sheet(subject) : weights_sheet(subject),
                   beside ? width - measures_width - ui::column_gap : width);
    ImGui::EndGroup();
    if (drawing.now.cell && drawing.now.cell->is(softmax_cells::weight))
        drawing.point(row_.query, drawing.now.cell->own.at[1]);
    if (beside) ImGui::SameLine(0, ui::column_gap);
    ImGui::BeginGroup();
    present::sheet(drawing, measures_sheet(subject), beside ? measures_width : width);
    ImGui::EndGroup();
    if (!with_vectors_) ui::caption("Linear attention is made of q and k, and here the scores were given.");
    if (temperature() == 0 && curves_->levels().highest > 0)
        ui::caption("Toward T = 0, ReLU² grows without end where a score is positive.");
}

void SoftmaxLens::draw_heads(const Drawing& drawing, Subject& subject, float width) {
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
    if (const auto clicked = present::sheet(drawing, heads_sheet(subject), width))
        parts::choose_head(drawing, {clicked->first, clicked->second});
}

void SoftmaxLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    update(subject);
    const Attention& attention = *subject.attention();
    while (!drawing.deadline.passed() && step(attention)) continue;
    ui::hint(
        "Drag the temperature: toward 0 only the best key is left, and far up all keys count the same. T = 1 "
        "is the "
        "head as it is.");
    if (ui::settings()) draw_controls(drawing, subject);
    update(subject);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    if (curves_) {
        while (maps_->step(curves_->levels()) && !drawing.deadline.passed()) continue;
        const float left = beside ? std::floor((width - ui::column_gap) * left_share) : width;
        ui::column("numbers", left, [&](float w) {
            draw_numbers(drawing, subject, w);
            ImGui::Dummy({0, gap_below});
            draw_queries(drawing, attention, w);
        });
        if (beside) ImGui::SameLine(0, ui::column_gap);
        ui::column("curves", beside ? width - left - ui::column_gap : width,
                   [&](float w) { draw_curves(drawing, w); });
        ImGui::Dummy({0, gap_below});
        draw_maps(drawing, subject, width);
    } else {
        ui::paragraph(refused_, ui::theme().text);
        ui::landmark_item("softmax/refused");
        draw_queries(drawing, attention, width);
    }
    ImGui::Dummy({0, gap_below});
    draw_heads(drawing, subject, width);
    if (step(attention))
        drawing.visit.continue_with([this, &subject, row = row_, of = heads_of_] {
            const Attention* now = subject.attention();
            return now && now->version() == of.version && row_ == row && heads_of_ == of && step(*now);
        });
}

}  // namespace attn::app
