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

namespace attn::app {

namespace {

constexpr float cost_chart_height = 250, time_name_width = 130;
constexpr Index most_points = 256;

// Chooses a unit in which the largest of some amounts has few digits.
struct AmountUnit {
    double size = 1;
    const char* name = "";
};
AmountUnit unit_of(double most, const std::array<const char*, 5>& names) {
    std::size_t unit = 0;
    double size = 1;
    for (; most / size >= 1000 && unit + 1 < names.size(); ++unit) size *= 1000;
    return {size, names[unit]};
}
constexpr std::array byte_units{"bytes", "KB", "MB", "GB", "TB"},
    operation_units{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};

ui::ChartAxis in_unit(ui::ChartAxis axis, const char* unit) {
    axis.unit = unit;
    return axis;
}

// Returns some places from the first to the last, both included.
std::vector<Index> places(Index first, Index last) {
    const Index stride = std::max<Index>(1, (last - first + most_points - 1) / most_points);
    std::vector<Index> all;
    for (Index at = first; at < last; at += stride) all.push_back(at);
    all.push_back(last);
    return all;
}

}  // namespace

void CacheLens::draw_bytes(const Drawing& drawing, const Cost& all, float width) {
    const Index last = all.after(all.written);
    ui::ChartCurve own{.name = "this model, 32 bits", .colour = ui::series_colour(0)},
        other{.name = many(all.other.layers.front().kv_heads, "KV head") + ", " +
                      std::to_string(all.other_kept.bits) + " bits" +
                      (now().window > 0 ? ", window " + with_commas(now().window) : ""),
              .colour = ui::series_colour(1),
              .dashed = true};
    const AmountUnit unit = unit_of(
        std::max(bytes_kept(all.own, last, all.own_kept), bytes_kept(all.other, last, all.other_kept)),
        byte_units);
    for (const Index tokens : places(0, last)) {
        own.x.push_back(static_cast<double>(tokens));
        own.y.push_back(bytes_kept(all.own, tokens, all.own_kept) / unit.size);
        other.x.push_back(static_cast<double>(tokens));
        other.y.push_back(bytes_kept(all.other, tokens, all.other_kept) / unit.size);
    }
    const std::array curves{own, other};
    const ui::Chart chart{.name = "cache-bytes",
                          .title = "Bytes in the cache",
                          .x = {"tokens read", 0, static_cast<double>(last), false, true},
                          .y = in_unit(ui::fitted("keys and values", curves, true), unit.name),
                          .marked = static_cast<double>(all.prompt)};
    const auto reply = present::chart(
        drawing, chart, width, cost_chart_height, curves,
        [&](std::size_t curve, std::size_t at) { return cache_cells::bytes(curve, curves[curve].x[at]); });
    if (reply.held) {
        CacheState next = now();
        next.prompt = std::clamp<Index>(std::lround(*reply.held), 1, last - 1);
        // The total length stays the same.
        next.written = last - next.prompt;
        set(next);
    }
}

void CacheLens::draw_operations(const Drawing& drawing, const Cost& all, float width) {
    ui::ChartCurve steps{.name = "with the cache", .colour = ui::series_colour(0), .bars = true},
        anew{.name = "without", .colour = ui::series_colour(1), .dashed = true};
    const AmountUnit unit = unit_of(step_cost(all.own, {0, all.after(all.written)}).total(), operation_units);
    // If only some bars fit, each would be read as a sum over several.
    const bool bars = all.steps() <= most_points;
    steps.bars = bars;
    for (const Index step : bars ? places(0, all.written) : places(1, all.written)) {
        steps.x.push_back(static_cast<double>(step));
        steps.y.push_back(step_cost(all.own, all.tokens_of(step)).total() / unit.size);
        anew.x.push_back(static_cast<double>(step));
        anew.y.push_back(step_cost(all.own, {0, all.after(step)}).total() / unit.size);
    }
    const std::array curves{steps, anew};
    const ui::Chart chart{
        .name = "cache-operations",
        .title = "Operations of each step",
        .x = {"step, 0 reads the prompt", -0.5, static_cast<double>(all.written) + 0.5, false, true},
        .y = in_unit(ui::fitted("operations", curves, true), unit.name),
        .marked = {}};
    present::chart(drawing, chart, width, cost_chart_height, curves, [&](std::size_t curve, std::size_t at) {
        return cache_cells::operations(curve, curves[curve].x[at]);
    });
}

void CacheLens::draw_variants(const Drawing& drawing, Subject& subject, float width) {
    if (const auto clicked = present::sheet(drawing, variants_sheet(subject), width)) {
        CacheState next = now();
        const Index heads = kv_heads_offered(subject)[static_cast<std::size_t>(clicked->first)];
        next.kv_heads = heads == trace_->model()->config().kv_heads ? 0 : heads;
        next.bits = cache_bits[static_cast<std::size_t>(clicked->second)];
        set(next);
    }
    ui::caption(
        ("The row with a dot is this model’s; the page itself keeps its numbers in 32 bits. In 8 and "
         "4 bits, groups "
         "of " +
         std::to_string(now().rounding.group) +
         " share a step. What that costs on this text is measured by decoding it again; what shared heads "
         "cost, by the lens Heads.")
            .c_str());
    const auto measured = [&](const char* name, const std::string& label, CachePart part) {
        if (!ui::button(name, label.c_str())) return;
        CacheState next = now();
        next.part = part;
        if (part == CachePart::bits && next.bits == 8) next.rounding.bits = 8;
        if (part == CachePart::bits && next.bits == 4) next.rounding.bits = 4;
        set(next);
    };
    measured("cache/loss_of_bits", "The loss in fewer bits", CachePart::bits);
    ui::next_control(ui::need::choices);
    measured("cache/loss_of_window", "The loss with fewer keys", CachePart::eviction);
}

void CacheLens::draw_race(const Drawing& drawing, float width) {
    const bool racing = race_ && !race_->done();
    const Status possible = racing ? Status(Error{"Measuring; wait until it is done."})
                            : trace_->tokens() < 2
                                ? Status(Error{"There is only one token, so nothing is decoded."})
                                : ok();
    if (ui::button("cache/measure", racing ? "Measuring" : "Measure the time",
                   {"Measuring", "Measure the time"}, possible))
        if (auto begun = DecodeRace::start(trace_)) race_ = *std::move(begun);
    if (possible)
        ui::tooltip("Runs this model on the whole text, and on its last token with a cache, in turn");
    if (!race_ || !race_->done()) return;
    const auto bar = [](const char* name, double ms) {
        return ui::Bar{name, static_cast<float>(ms), rounded(ms, 2) + " ms", false, false};
    };
    const auto most = static_cast<float>(std::max(race_->whole_ms(), race_->step_ms()));
    present::bars(
        drawing,
        {.key = "cache/times",
         .title = "The time of a pass and of a step",
         .value = "ms",
         .bars = {bar("a whole pass", race_->whole_ms()), bar("a step with a cache", race_->step_ms())},
         .most = most,
         .scale = ui::sequential_scale(most),
         .most_name = time_name_width,
         .cell = [](Index) { return cache_cells::time(); }},
        width);
    ui::caption(("In this page, the last of " + many(trace_->tokens(), "token") + " takes " +
                 fixed(race_->ratio(), 1) + " times less with a cache than all of them again.")
                    .c_str());
    ui::landmark_item("cache/measured");
}

void CacheLens::draw_cost(const Drawing& drawing, Subject& subject) {
    const Cost all = cost(subject);
    ui::columns(
        "cache/cost", ui::two_maps - ui::column_gap, present::card_gap,
        [&](float width) { draw_bytes(drawing, all, width); },
        [&](float width) { draw_operations(drawing, all, width); },
        [&](float width) { draw_variants(drawing, subject, width); },
        [&](float width) { draw_race(drawing, width); });
}

}  // namespace attn::app
