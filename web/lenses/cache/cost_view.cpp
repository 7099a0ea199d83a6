// Draws what a cache costs and saves, step by step.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::cache {

namespace {

constexpr float cost_chart_height = 250, time_name_width = 130;
constexpr Index most_points = 256;

// Two curves of amounts over steps or tokens, in the unit in which the largest of them has few digits.
struct Amounts {
    std::array<ui::ChartCurve, 2> curves;
    ui::ChartAxis axis;
};
Amounts in_unit(std::array<ui::ChartCurve, 2> curves, double most, const char* title,
                const std::array<const char*, 5>& units) {
    std::size_t unit = 0;
    double size = 1;
    for (; most / size >= 1000 && unit + 1 < units.size(); ++unit) size *= 1000;
    for (ui::ChartCurve& curve : curves)
        for (double& y : curve.y) y /= size;
    ui::ChartAxis axis = ui::fitted(title, curves, true);
    axis.unit = units[unit];
    return {std::move(curves), std::move(axis)};
}

// Adds the values at some places from the first to the last, both included.
void fill(std::array<ui::ChartCurve, 2>& curves, Index first, Index last, auto&& value) {
    const Index stride = std::max<Index>(1, (last - first + most_points - 1) / most_points);
    for (Index at = first;; at = std::min(at + stride, last)) {
        for (std::size_t i = 0; i < curves.size(); ++i) {
            curves[i].x.push_back(static_cast<double>(at));
            curves[i].y.push_back(value(i, at));
        }
        if (at >= last) return;
    }
}

void draw_bytes(const Model& model, const Drawing& drawing, float width) {
    const Cost& cost = model.cost;
    const Index last = cost.after(cost.written);
    std::array curves{
        ui::ChartCurve{.name = "this model, 32 bits", .colour = ui::series_colour(0)},
        ui::ChartCurve{.name = many(cost.other.shape.layers.front().kv_heads, "KV head") + ", " +
                               std::to_string(cost.other.precision.bits) + " bits" +
                               (model.state.window > 0 ? ", window " + with_commas(model.state.window) : ""),
                       .colour = ui::series_colour(1),
                       .dashed = true}};
    fill(curves, 0, last,
         [&](std::size_t i, Index tokens) { return (i == 0 ? cost.own : cost.other).bytes(tokens); });
    const Amounts shown = in_unit(std::move(curves), std::max(cost.own.bytes(last), cost.other.bytes(last)),
                                  "keys and values", {"bytes", "KB", "MB", "GB", "TB"});
    const ui::Chart chart{.name = "cache-bytes",
                          .title = "Bytes in the cache",
                          .x = {"tokens read", 0, static_cast<double>(last), false, true},
                          .y = shown.axis,
                          .marked = static_cast<double>(cost.prompt)};
    const auto reply = present::chart(
        drawing, chart, width, cost_chart_height, shown.curves,
        [&](std::size_t curve, std::size_t at) { return cells::bytes(curve, shown.curves[curve].x[at]); });
    if (!reply.held) return;
    // The total length stays the same.
    State wanted = model.state;
    wanted.prompt = std::clamp<Index>(std::lround(*reply.held), 1, last - 1);
    wanted.written = last - wanted.prompt;
    set(drawing, wanted);
}

void draw_operations(const Model& model, const Drawing& drawing, float width) {
    const Cost& cost = model.cost;
    // If only some bars fit, each would be read as a sum over several.
    const bool bars = cost.steps() <= most_points;
    std::array curves{ui::ChartCurve{.name = "with the cache", .colour = ui::series_colour(0), .bars = bars},
                      ui::ChartCurve{.name = "without", .colour = ui::series_colour(1), .dashed = true}};
    fill(curves, bars ? 0 : 1, cost.written,
         [&](std::size_t i, Index step) { return cost.of_step(step, i == 1).total(); });
    const Amounts shown = in_unit(std::move(curves), cost.of_step(cost.written, true).total(), "operations",
                                  {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"});
    const ui::Chart chart{
        .name = "cache-operations",
        .title = "Operations of each step",
        .x = {"step, 0 reads the prompt", -0.5, static_cast<double>(cost.written) + 0.5, false, true},
        .y = shown.axis};
    present::chart(drawing, chart, width, cost_chart_height, shown.curves,
                   [&](std::size_t curve, std::size_t at) {
                       return cells::operations(curve, shown.curves[curve].x[at]);
                   });
}

void draw_variants(const Model& model, const Drawing& drawing, float width) {
    State wanted = model.state;
    if (const auto clicked = present::sheet(drawing, variants_sheet(model), width)) {
        const Index heads = model.kv_heads_offered()[static_cast<std::size_t>(clicked->first)];
        wanted.kv_heads = heads == model.trace->model()->config().kv_heads ? 0 : heads;
        wanted.bits = bits_offered[static_cast<std::size_t>(clicked->second)];
    }
    ui::caption(
        ("The row with a dot is this model’s; the page itself keeps its numbers in 32 bits. In 8 and "
         "4 bits, groups of " +
         std::to_string(model.state.rounding.group) +
         " share a step. What that costs on this text is measured by decoding it again; what shared heads "
         "cost, by the lens Heads.")
            .c_str());
    if (ui::button("cache/loss_of_bits", "The loss in fewer bits")) {
        wanted.part = Part::bits;
        if (wanted.bits == 8 || wanted.bits == 4) wanted.rounding.bits = wanted.bits;
    }
    ui::next_control(ui::need::choices);
    if (ui::button("cache/loss_of_window", "The loss with fewer keys")) wanted.part = Part::eviction;
    set(drawing, wanted);
}

void draw_race(Model& model, const Drawing& drawing, float width) {
    const std::optional<DecodeRace>& race = model.race;
    const bool racing = race && !race->done();
    const Status possible = racing ? Status(Error{"Measuring; wait until it is done."})
                            : model.trace->tokens() < 2
                                ? Status(Error{"There is only one token, so nothing is decoded."})
                                : ok();
    if (ui::button("cache/measure", racing ? "Measuring" : "Measure the time",
                   {"Measuring", "Measure the time"}, possible))
        if (auto begun = DecodeRace::start(model.trace)) model.race = *std::move(begun);
    if (possible)
        ui::tooltip("Runs this model on the whole text, and on its last token with a cache, in turn");
    if (!race || !race->done()) return;
    const auto bar = [](const char* name, double ms) {
        return ui::Bar{name, static_cast<float>(ms), rounded(ms, 2) + " ms", false, false};
    };
    const auto most = static_cast<float>(std::max(race->whole_ms(), race->step_ms()));
    present::bars(
        drawing,
        {.key = "cache/times",
         .title = "The time of a pass and of a step",
         .value = "ms",
         .bars = {bar("a whole pass", race->whole_ms()), bar("a step with a cache", race->step_ms())},
         .most = most,
         .scale = ui::sequential_scale(most),
         .most_name = time_name_width,
         .cell = [](Index) { return cells::time(); }},
        width);
    ui::caption(("In this page, the last of " + many(model.trace->tokens(), "token") + " takes " +
                 fixed(race->ratio(), 1) + " times less with a cache than all of them again.")
                    .c_str());
    ui::landmark_item("cache/measured");
}

}  // namespace

void draw_cost(Model& model, const Drawing& drawing) {
    ui::columns(
        "cache/cost", ui::two_maps - ui::column_gap, present::card_gap,
        [&](float width) { draw_bytes(model, drawing, width); },
        [&](float width) { draw_operations(model, drawing, width); },
        [&](float width) { draw_variants(model, drawing, width); },
        [&](float width) { draw_race(model, drawing, width); });
}

}  // namespace attn::app::cache
