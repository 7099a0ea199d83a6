// Draws the loss if heads share keys and values, or keep a latent instead.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

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

namespace attn::app {

namespace {

constexpr float chart_height = 210, change_name_width = 90;

}  // namespace

// Draws the loss over the settings measured so far. The mark is the chosen setting, and can be dragged.
void HeadsLens::draw_loss(const Drawing& drawing, float width) {
    const bool shares = now().part == HeadsPart::sharing;
    const Smaller* before = runs()->at(0);
    if (!before || std::isnan(before->loss) || most_setting() < 2) return;
    std::vector<Index> shown = settings_;
    if (setting() != 0 && std::ranges::find(shown, setting()) == shown.end()) shown.push_back(setting());
    std::ranges::sort(shown);
    ui::ChartCurve loss{.name = "loss", .colour = ui::series_colour(0), .points = true, .radius = 4};
    std::vector<Index> points;
    for (const Index each : shown)
        if (const Smaller* measured = runs()->at(each); measured && std::isfinite(measured->loss)) {
            loss.x.push_back(static_cast<double>(each));
            loss.y.push_back(measured->loss);
            points.push_back(each);
        }
    if (shares) {
        loss.x.push_back(static_cast<double>(most_setting()));
        loss.y.push_back(before->loss);
        points.push_back(0);
    }
    if (loss.x.empty()) return;
    const double most = static_cast<double>(most_setting());
    const ui::ChartCurve as_it_is{.name = "as it is",
                                  .colour = ui::theme().dim,
                                  .x = {1, most},
                                  .y = {before->loss, before->loss},
                                  .dashed = true};
    const std::array<ui::ChartCurve, 2> curves{loss, as_it_is};
    const double marked = setting() == 0 ? most : static_cast<double>(setting());
    const ui::Chart chart{.name = "heads-loss",
                          .title = "Loss of this text",
                          .x = {shares ? "heads of K and V" : "rank", 1, most, true, true},
                          .y = ui::fitted("nats a token", curves, false),
                          .marked = marked};
    const auto reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                           if (curve != 0) return std::nullopt;
                           return heads_cells::cache(is_latent(), CacheMeasure::loss, points[point]);
                       });
    HeadsState next = now();
    if (reply.held) {
        const auto to = static_cast<Index>(std::lround(std::max(1.0, *reply.held)));
        (shares ? next.kv_heads : next.rank) = to;
    }
    if (reply.clicked && reply.over->curve == 0) {
        const Index at = points[reply.over->point];
        (shares ? next.kv_heads : next.rank) = at == 0 ? most_setting() : at;
    }
    if (next != now()) visit().perform(SetHeadsLens{next}, ui::gesture());
}

void HeadsLens::draw_changes(const Drawing& drawing, Subject& subject, float width) {
    const Smaller* shown = runs()->last();
    if (!shown || runs()->last_setting() == 0) return;
    std::vector<ui::Bar> bars;
    double most = 0;
    for (const double change : shown->changes) {
        most = std::max(most, std::isnan(change) ? 0 : change);
        bars.push_back({subject.attention()->numbering().name(std::ssize(bars)), static_cast<float>(change),
                        percent(change), false, false});
    }
    present::bars(drawing,
                  {.key = "heads/change",
                   .title = "How far what each layer writes changes",
                   .value = "change",
                   .bars = bars,
                   .most = static_cast<float>(most),
                   .scale = ui::sequential_scale(static_cast<float>(most)),
                   .most_name = change_name_width,
                   .cell =
                       [&](Index layer) {
                           return heads_cells::output_error(is_latent(), layer, runs()->last_setting());
                       }},
                  width);
}

void HeadsLens::draw_cache(const Drawing& drawing, Subject& subject) {
    const ModelConfig& config = trace_->model()->config();
    const bool shares = now().part == HeadsPart::sharing, factored = shares || factors_->done();
    const Index wanted = setting();
    if (!factored || !runs()->at(wanted)) {
        const std::string what =
            !factored ? "Keys and values are being factored, " + percent(factors_->progress())
                      : "Reading the text with " + (wanted == 0 ? "all heads" : setting_name(wanted)) + ", " +
                            percent(runs()->progress());
        ui::caption((what + ".").c_str());
        ui::landmark_item("heads/progress");
    }
    if (factored && runs()->at(0)) {
        const auto measures = [&](float w) {
            present::sheet(drawing, measures_sheet(), w);
            if (says()) present::sheet(drawing, said_sheet(subject), w);
        };
        const auto curves = [&](float w) {
            draw_loss(drawing, w);
            draw_changes(drawing, subject, w);
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
        for (Index i = 0; i < config.attentions(); ++i) kept += factors_->kept(i, wanted);
        note += " Rank " + std::to_string(wanted) + " keeps " +
                percent(kept / static_cast<double>(config.attentions())) + " of the squares.";
    }
    if (!shares && !trace_->network().rotary.empty())
        note += " Positions turn the keys that the latent gives; DeepSeek-V2 keeps a turning part beside it.";
    if (config.decoder_layers > 0)
        note += " Counted are the decoder’s own keys and values; the encoder’s tokens keep as many for it.";
    else if (!config.causal)
        note += " A model that only encodes has no cache: it is what it would keep.";
    ui::caption(note.c_str());
    ui::landmark_item("heads/note");
}

}  // namespace attn::app
