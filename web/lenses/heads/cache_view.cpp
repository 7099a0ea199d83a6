// Draws the loss if heads share keys and values, or keep a latent instead.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::heads {

namespace {

constexpr float chart_height = 210, change_name_width = 90;

// Draws the loss over the settings measured so far. The mark is the chosen setting, and can be dragged.
void draw_loss(const Model& model, const Drawing& drawing, float width) {
    const SmallerRuns& runs = model.runs();
    const bool shares = runs.shares();
    const Smaller* before = runs.at(0);
    if (!before || std::isnan(before->loss) || runs.most() < 2) return;
    std::set<Index> shown(runs.settings().begin(), runs.settings().end());
    if (model.setting() != 0) shown.insert(model.setting());
    ui::ChartCurve loss{.name = "loss", .colour = ui::series_colour(0), .points = true, .radius = 4};
    std::vector<Index> points;
    const auto add = [&](Index setting, Index at) {
        const Smaller* measured = runs.at(setting);
        if (!measured || !std::isfinite(measured->loss)) return;
        loss.add(static_cast<double>(at), measured->loss);
        points.push_back(setting);
    };
    for (const Index each : shown) add(each, each);
    if (shares) add(0, runs.most());
    if (loss.x.empty()) return;
    const double most = static_cast<double>(runs.most());
    const ui::ChartCurve as_it_is{.name = "as it is",
                                  .colour = ui::theme().dim,
                                  .x = {1, most},
                                  .y = {before->loss, before->loss},
                                  .dashed = true};
    const std::array<ui::ChartCurve, 2> curves{loss, as_it_is};
    const ui::Chart chart{.name = "heads-loss",
                          .title = "Loss of this text",
                          .x = {shares ? "heads of K and V" : "rank", 1, most, true, true},
                          .y = ui::fitted("nats a token", curves, false),
                          .marked = model.setting() == 0 ? most : static_cast<double>(model.setting())};
    const auto reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                           if (curve != 0) return std::nullopt;
                           return cells::cache(model.is_latent(), CacheMeasure::loss, points[point]);
                       });
    State next = model.state;
    Index& wanted = shares ? next.kv_heads : next.rank;
    if (reply.held) wanted = static_cast<Index>(std::lround(std::max(1.0, *reply.held)));
    if (reply.clicked && reply.over->curve == 0)
        wanted = points[reply.over->point] == 0 ? runs.most() : points[reply.over->point];
    if (next != model.state) drawing.visit.perform(Set<State>{next}, ui::gesture());
}

void draw_changes(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const SmallerRuns& runs = model.runs();
    const Smaller* shown = runs.last();
    if (!shown || runs.last_setting() == 0) return;
    std::vector<ui::Bar> bars;
    double most = 0;
    for (const double change : shown->changes) {
        most = std::max(most, std::isnan(change) ? 0 : change);
        bars.push_back({subject.attention()->numbering().name(std::ssize(bars)), static_cast<float>(change),
                        percent(change), false, false});
    }
    present::bars(
        drawing,
        {.key = "heads/change",
         .title = "How far what each layer writes changes",
         .value = "change",
         .bars = bars,
         .most = static_cast<float>(most),
         .scale = ui::sequential_scale(static_cast<float>(most)),
         .most_name = change_name_width,
         .cell =
             [&](Index layer) { return cells::output_error(model.is_latent(), layer, runs.last_setting()); }},
        width);
}

}  // namespace

void draw_cache(const Model& model, const Drawing& drawing, Subject& subject) {
    const SmallerRuns& runs = model.runs();
    const ModelConfig& config = model.trace->model()->config();
    const bool shares = runs.shares(), factored = runs.factored();
    const Index wanted = model.setting();
    if (!factored || !runs.at(wanted)) {
        const std::string what =
            !factored ? "Keys and values are being factored, " + percent(runs.factors()->progress())
                      : "Reading the text with " + (wanted == 0 ? "all heads" : setting_name(model, wanted)) +
                            ", " + percent(runs.progress());
        ui::caption((what + ".").c_str());
        ui::landmark_item("heads/progress");
    }
    if (factored && runs.at(0)) {
        const auto measures = [&](float w) {
            present::sheet(drawing, measures_sheet(model), w);
            if (model.says()) present::sheet(drawing, said_sheet(model, subject), w);
        };
        const auto curves = [&](float w) {
            draw_loss(model, drawing, w);
            draw_changes(model, drawing, subject, w);
        };
        ui::columns("heads/cache", ui::two_columns / 2 - ui::column_gap, present::card_gap, measures, curves);
    }
    std::string note =
        shares
            ? "W_K and W_V of a group are their mean (GQA), without training the model on."
            : "The latent’s W_down and W_up are the nearest of that rank to [W_K W_V] by the sum of squares, "
              "without training the model on.";
    if (!shares && factored) {
        double kept = 0;
        for (Index i = 0; i < config.attentions(); ++i) kept += runs.factors()->kept(i, wanted);
        note += " Rank " + std::to_string(wanted) + " keeps " +
                percent(kept / static_cast<double>(config.attentions())) + " of the squares.";
    }
    if (!shares && !model.trace->network().rotary.empty())
        note += " Positions turn the keys that the latent gives; DeepSeek-V2 keeps a turning part beside it.";
    if (config.decoder_layers > 0)
        note += " Counted are the decoder’s own keys and values; the encoder’s tokens keep as many for it.";
    else if (!config.causal)
        note += " A model that only encodes has no cache: it is what it would keep.";
    ui::caption(note.c_str());
    ui::landmark_item("heads/note");
}

}  // namespace attn::app::heads
