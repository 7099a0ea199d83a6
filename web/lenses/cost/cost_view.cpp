// Draws the times and their fits, the roofline, and models beside each other.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/cost/cost.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::cost {

namespace {

constexpr float chart_height = 250, memory_share = 0.4f, roof_share = 0.62f;
constexpr double margin = 1.3;  // a logarithmic axis goes beyond its points by this factor
constexpr double kilobyte = 1000, giga = 1e9, least_reading = 16, most_reading = 1 << 20;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// ---- Controls ---------------------------------------------------------------------------------------------

void draw_tries(const Drawing& drawing) {
    const ui::Row tries("cost/try", ui::to_try);
    State next = drawing.state().of<State>();
    const Part shown = next.part == Part::time ? Part::models : next.part;
    for (std::size_t i = 2; i < known_count; ++i) {
        const KnownModel& known = known_models()[i];
        if (!ui::next_button(known.name)) continue;
        const std::string name = "cost/try/" + std::string(shape_words[first_known + i]);
        if (ui::button(name.c_str(), known.name)) {
            next.typed = typed_as(known.shape);
            next.whose = Whose::typed;
            next.part = shown;
        }
    }
    constexpr const char* twice = "Twice the text";
    if (ui::next_button(twice) && ui::button("cost/try/twice", twice)) {
        next.tokens = std::min(2 * next.tokens, most_tokens);
        next.part = shown;
    }
    set(drawing, next);
}

// Changes the value to the chosen one.
template <class T>
void named_choice(const char* label, const char* name, std::span<const char* const> names, T& value) {
    if (!ui::next_control(ui::need::named_choices)) return;
    if (const auto chosen = ui::labelled_choice(label, name, names, static_cast<int>(value)))
        value = static_cast<T>(*chosen);
}

// Changes the value to a number that is typed.
void whole_field(const char* name, const char* label, Index& value, Index most) {
    ui::control(ui::need::short_stepper + ui::long_number_width / 2, [&] {
        ui::label(label);
        if (const auto typed =
                ui::number_field(name, label, static_cast<double>(value), "%.0f", ui::long_number_width))
            value = std::lround(std::clamp(*typed, 1.0, static_cast<double>(most)));
    });
}

void bits_choice(const char* name, const char* label, Index& bits) {
    static constexpr std::array<Index, 4> offered{32, 16, 8, 4};
    static constexpr std::array<const char*, 4> names{"32", "16", "8", "4"};
    if (!ui::next_control(ui::need::named_choices)) return;
    const auto taken = static_cast<int>(std::ranges::find(offered, bits) - offered.begin());
    if (const auto chosen = ui::labelled_choice(label, name, names, taken))
        bits = offered[static_cast<std::size_t>(*chosen)];
}

void draw_typed(TypedShape& typed) {
    whole_field("cost/layers", "layers", typed.layers, most_layers);
    whole_field("cost/d_model", "d_model", typed.d_model, most_width);
    whole_field("cost/heads", "heads", typed.heads, most_width);
    whole_field("cost/kv_heads", "KV heads", typed.kv_heads, most_width);
    // Each of these reads for as many of the others.
    typed.kv_heads = std::min(typed.kv_heads, typed.heads);
    while (typed.heads % typed.kv_heads != 0) --typed.kv_heads;
    whole_field("cost/head_dim", "head_dim", typed.head_dim, most_width);
    whole_field("cost/d_ff", "d_ff", typed.d_ff, most_width);
    whole_field("cost/vocabulary", "vocabulary", typed.vocabulary, most_width);
    static constexpr std::array<const char*, 2> gates{"plain", "gated"}, ties{"apart", "tied"};
    named_choice("MLP", "cost/gated", gates, typed.gated);
    named_choice("embeddings", "cost/tied", ties, typed.tied);
}

void draw_settings(const Model& model, const Drawing& drawing) {
    const ui::Row row("cost/settings");
    State next = drawing.state().of<State>();
    static constexpr std::array<const char*, 3> parts{"time", "roofline", "models"};
    static constexpr std::array<const char*, 2> whose{"open model", "typed"};
    named_choice("show", "cost/part", parts, next.part);
    if (next.part != Part::time) {
        if (model.shape(0)) named_choice("shape", "cost/shape", whose, next.whose);
        whole_field("cost/tokens", "tokens", next.tokens, most_tokens);
        if (next.part == Part::models) {
            bits_choice("cost/bits", "weights in bits", next.weight_bits);
            bits_choice("cost/cache_bits", "cache", next.cache_bits);
        }
        if (model.in_view() == 1) draw_typed(next.typed);
    }
    set(drawing, next);
}

// Returns whether it was pressed.
bool draw_measure(const Model& model, const char* idle) {
    const bool busy = model.measured->is_busy();
    const Status possible = busy ? Status(Error{"Measuring; wait until it is done."}) : ok();
    const bool pressed = ui::button("cost/measure", busy ? "Measuring" : idle, {"Measuring", idle}, possible);
    if (!busy) ui::landmark_item("cost/measured");
    return pressed;
}

// ---- Pictures ---------------------------------------------------------------------------------------------

ui::ChartAxis around(std::string title, std::span<const ui::ChartCurve> curves, bool of_x,
                     std::string unit = "") {
    double low = HUGE_VAL, high = 0;
    for (const ui::ChartCurve& curve : curves)
        for (const double value : of_x ? curve.x : curve.y) {
            if (!std::isfinite(value)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
    if (high == 0) low = high = 1;
    return {std::move(title), low / margin, high * margin, true, of_x, std::move(unit)};
}

void draw_times(const Model& model, const Drawing& drawing, CostAxis axis, float width) {
    const bool over_n = axis == CostAxis::n;
    std::vector<ui::ChartCurve> curves;
    std::vector<const CostSeries*> series;
    for (std::size_t i = 0; i < model.series.size(); ++i) {
        const CostSeries& each = model.series[i];
        const CostSeries::Over& over = each.by(axis);
        ui::ChartCurve points{
            .name = each.name(), .colour = ui::series_colour(i), .x = over.x, .y = over.ms, .apart = true};
        for (const auto* timed : over.timed)
            points.notes.push_back(over_n ? "d = " + std::to_string(timed->what.d)
                                          : "n = " + std::to_string(timed->what.n));
        ui::ChartCurve line{.colour = points.colour, .dashed = true};
        if (over.fit) {
            points.name += (over_n ? " n^" : " d^") + fixed(over.fit->exponent, 2);
            line.x = {over.x[static_cast<std::size_t>(over.fit->points.begin)], over.x.back()};
            for (const double x : line.x) line.y.push_back(over.fit->at(x));
        }
        curves.push_back(std::move(points));
        series.push_back(&each);
        if (line.x.empty()) continue;
        curves.push_back(std::move(line));
        series.push_back(nullptr);
    }
    const ui::Chart chart{
        .name = over_n ? "cost-n" : "cost-d",
        .title = over_n ? "Time over the length n of the text" : "Time over the width d of a head",
        .x = around(over_n ? "n, queries and keys" : "d, numbers of a query", curves, true),
        .y = around("a call", curves, false, "ms")};
    present::chart(drawing, chart, width, chart_height, curves,
                   [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                       if (!series[curve]) return std::nullopt;
                       const auto& [form, means, over] = *series[curve];
                       const auto x = static_cast<Index>(series[curve]->by(axis).x[point]);
                       return over_n ? cells::time(form, means, x) : cells::width(form, means, x);
                   });
}

void draw_memory(const Model& model, const Drawing& drawing, float width) {
    std::array curves{ui::ChartCurve{.name = "naive, 4 n²", .colour = ui::series_colour(0), .points = true},
                      ui::ChartCurve{.name = "fused, 8 n", .colour = ui::series_colour(1), .points = true}};
    const CostSeries* usual = model.series_of(CostWork::naive, usual_means());
    if (!usual || usual->by(CostAxis::n).x.empty()) return;
    for (const double n : usual->by(CostAxis::n).x)
        for (std::size_t form = 0; form < 2; ++form) {
            curves[form].x.push_back(n);
            curves[form].y.push_back((form == 0 ? 4 * n * n : 8 * n) / kilobyte);
        }
    const ui::Chart chart{.name = "cost-memory",
                          .title = "Working memory",
                          .x = around("n", curves, true),
                          .y = around("beside Q, K, V, O", curves, false, "KB")};
    present::chart(drawing, chart, width, chart_height, curves, [&](std::size_t form, std::size_t point) {
        return std::optional(cells::memory(form, curves[form].x[point]));
    });
}

void draw_time(Model& model, const Drawing& drawing) {
    ui::columns(
        "cost/times", ui::two_maps - ui::column_gap, present::card_gap,
        [&](float w) { draw_times(model, drawing, CostAxis::n, w); },
        [&](float w) { draw_times(model, drawing, CostAxis::d, w); });
    if (draw_measure(model, model.measured->is_thorough() ? "Measure again" : "Measure thoroughly"))
        model.measured->measure_times(true);
    ui::tooltip("Scalar, SIMD and threads, at more sizes, seven times each: a few seconds");
    ui::unequal_columns(
        1 - memory_share, present::card_gap, "cost/left",
        [&](float w) {
            if (model.measured->times()->done()) present::sheet(drawing, fits_sheet(model), w);
        },
        "cost/right", [&](float w) { draw_memory(model, drawing, w); });
}

void draw_chart_of_roof(const Model& model, const Drawing& drawing, const Roofline& roof, float width) {
    std::vector<ui::ChartCurve> curves(1);
    std::vector<CostOperation> operations{{}};
    for (std::size_t i = 0; i < operation_names.size(); ++i) {
        const auto operation = static_cast<CostOperation>(i);
        const auto* timed = model.measured->timed(operation);
        if (!timed) continue;
        curves.push_back({.name = operation_names[i],
                          .colour = ui::series_colour(i),
                          .x = {intensity_of(timed->what)},
                          .y = {rate_of(*timed) / giga},
                          .apart = true,
                          .radius = 5,
                          .notes = {"measured"}});
        operations.push_back(operation);
    }
    const ui::ChartAxis points = around("", curves, true);
    curves.front() = {.colour = ui::theme().dim};
    for (const double x :
         {std::min(points.low, roof.ridge()) / 2, roof.ridge(), 2 * std::max(points.high, roof.ridge())}) {
        curves.front().x.push_back(x);
        curves.front().y.push_back(roof.at(x) / giga);
    }
    const ui::Chart chart{.name = "cost-roof",
                          .title = "Roofline, " + model.measured->roof_of(),
                          .x = {"operations a byte", curves.front().x.front(), curves.front().x.back(), true},
                          .y = around("speed", curves, false, "GFLOP/s")};
    present::chart(drawing, chart, width, chart_height + 60, curves,
                   [&](std::size_t curve, std::size_t) -> std::optional<CellRef> {
                       if (curve == 0) return std::nullopt;
                       return cells::reached(operations[curve], 1);
                   });
}

void draw_roofline(Model& model, const Drawing& drawing) {
    const auto roof = model.roofline();
    if (!roof) return;
    ui::unequal_columns(
        roof_share, present::card_gap, "cost/left",
        [&](float w) { draw_chart_of_roof(model, drawing, *roof, w); }, "cost/right",
        [&](float w) { present::sheet(drawing, roof_sheet(model), w); });
    present::sheet(drawing, reached_sheet(model), ImGui::GetContentRegionAvail().x);
    if (draw_measure(model, "Measure again")) model.measure_roof();
    ui::tooltip("Runs pieces of these matrices, and reads 67 MB from end to end");
}

void draw_reading(const Model& model, const Drawing& drawing, float width) {
    std::array curves{ui::ChartCurve{.name = "matrices", .colour = ui::series_colour(0), .points = true},
                      ui::ChartCurve{.name = "attention", .colour = ui::series_colour(1), .points = true}};
    const double last = std::max(most_reading, static_cast<double>(model.state.tokens));
    for (double n = least_reading; n <= last; n *= 2) {
        const StepCost cost = model.use(model.in_view(), static_cast<Index>(n)).step(true).operations;
        for (std::size_t i = 0; i < 2; ++i) {
            curves[i].x.push_back(n);
            curves[i].y.push_back((i == 0 ? cost.matrices : cost.attention) / giga);
        }
    }
    const ui::Chart chart{.name = "cost-reading",
                          .title = "Reading a text, " + model.shape_name(model.in_view()),
                          .x = {"tokens", least_reading, last, true, true},
                          .y = around("operations", curves, false, "GFLOP"),
                          .marked = std::max(static_cast<double>(model.state.tokens), least_reading)};
    const auto reply =
        present::chart(drawing, chart, width, chart_height, curves, [&](std::size_t part, std::size_t point) {
            return std::optional(cells::reading(part, curves[part].x[point]));
        });
    if (!reply.held) return;
    State wanted = drawing.state().of<State>();
    wanted.tokens = std::clamp<Index>(std::lround(*reply.held), 1, most_tokens);
    set(drawing, wanted);
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    static constexpr std::array hints{
        "Measure again, thoroughly, to compare scalar, SIMD and threads; click a point to see where it comes "
        "from.",
        "Click a point to see how far it is from the roof, and why.",
        "Type a shape, or drag the line in the chart; click a number to see how it is counted."};
    ui::hint(hints[static_cast<std::size_t>(model.state.part)]);
    if (ui::settings()) {
        draw_tries(drawing);
        model.update(drawing.visit, subject);
        draw_settings(model, drawing);
    }
    model.update(drawing.visit, subject);
    switch (model.state.part) {
        case Part::time: draw_time(model, drawing); break;
        case Part::roofline: draw_roofline(model, drawing); break;
        case Part::models: {
            const float width = ImGui::GetContentRegionAvail().x;
            present::sheet(drawing, models_sheet(model), width);
            draw_reading(model, drawing, width);
        }
    }
    if (model.measured->is_busy())
        drawing.visit.continue_with([measured = model.measured] { return measured->step(); });
}

}  // namespace attn::app::cost
