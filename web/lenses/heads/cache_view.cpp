// Draws what is lost where heads share keys and values, or keep a latent in their place.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/heads/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/bars.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/plot.hpp"

namespace attn::app {

namespace {

constexpr float chart_height = 210, change_name_width = 90;
constexpr Index most_said = 6;
constexpr std::array<const char*, cache_measure_count> measure_names{"numbers", "bytes, 16-bit", "loss",
                                                                     "attention", "next"};

// Among heads_cells::cache_words.
bool cache_of(HeadsPart part) { return part == HeadsPart::latent; }

}  // namespace

// Every measure as it is and with the setting that was measured last.
void HeadsLens::draw_measures(const Drawing& drawing, float width) {
    const std::array<Index, 2> columns{0, runs()->last_setting()};
    const Index shown = columns[1] == 0 ? 1 : 2;
    Matrix values(cache_measure_count, shown);
    std::vector<std::string> rows(measure_names.begin(), measure_names.end()),
        names{"as it is", columns[1] == 0                    ? ""
                          : now().part == HeadsPart::sharing ? many(columns[1], "head")
                                                             : setting_name(columns[1])};
    ui::MatrixGrid grid;
    for (Index r = 0; r < values.rows; ++r)
        for (Index c = 0; c < shown; ++c) {
            const auto measure = static_cast<CacheMeasure>(r);
            const auto value = cache_value(measure, columns[static_cast<std::size_t>(c)]);
            values.at(r, c) = value.value_or(0);
            const bool counts = measure == CacheMeasure::numbers || measure == CacheMeasure::bytes;
            grid.texts.push_back(!value || std::isnan(*value) ? "–"
                                 : counts                     ? with_commas(static_cast<std::int64_t>(*value))
                                 : measure == CacheMeasure::loss ? fixed(*value, 4)
                                                                 : percent(*value));
        }
    grid.name = "heads/measures";
    grid.title = "What it saves and costs";
    grid.notation = std::string(
                        "a token’s numbers in the cache, at 16 bits; nats; share that changed, the next "
                        "token’s probability ") +
                    at_temperature;
    grid.values = &values;
    grid.row_labels = rows;
    grid.column_labels = std::span(names).first(static_cast<std::size_t>(shown));
    grid.row_axis = "measure";
    grid.column_axis = "run";
    heads_view::draw_grid(
        grid, width,
        [&](ui::CellAt at) {
            return heads_cells::cache(cache_of(now().part), at.first,
                                      columns[static_cast<std::size_t>(at.second)]);
        },
        drawing);
}

// The loss over the settings, as far as they are measured. The mark is the setting, and can be dragged.
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
    const ui::ChartReply reply = present::chart(drawing, chart, width, chart_height, curves);
    HeadsState next = now();
    if (reply.held) {
        const auto to = static_cast<Index>(std::lround(std::max(1.0, *reply.held)));
        (shares ? next.kv_heads : next.rank) = to;
    }
    if (reply.over && reply.over->curve == 0) {
        const Index at = points[reply.over->point];
        const CellRef cell = heads_cells::cache(cache_of(now().part), CacheMeasure::loss, at);
        drawing.now.cell = cell;
        if (reply.clicked) {
            present::pin(drawing, cell);
            (shares ? next.kv_heads : next.rank) = at == 0 ? most_setting() : at;
        }
    }
    if (next != now()) visit().perform(SetHeadsLens{next}, ui::gesture());
}

void HeadsLens::draw_changes(const Drawing& drawing, Subject& subject, float width) {
    const Smaller* shown = runs()->last();
    if (!shown || runs()->last_setting() == 0) return;
    ui::section("How far what each layer writes changes");
    std::vector<ui::Bar> bars;
    double most = 0;
    for (std::size_t i = 0; i < shown->changes.size(); ++i) {
        most = std::max(most, std::isnan(shown->changes[i]) ? 0 : shown->changes[i]);
        const CellRef cell = heads_cells::output_error(cache_of(now().part), i, runs()->last_setting());
        bars.push_back({subject.attention()->numbering().name(static_cast<Index>(i)),
                        static_cast<float>(shown->changes[i]), percent(shown->changes[i]),
                        drawing.state().pin == cell, false});
    }
    const auto over = ui::bar_list("heads/change", "Change of what each layer’s attention writes", width,
                                   bars, static_cast<float>(most),
                                   ui::sequential_scale(static_cast<float>(most)), change_name_width);
    if (over)
        heads_view::answer(drawing,
                           heads_cells::output_error(cache_of(now().part), *over, runs()->last_setting()));
}

// The likeliest of both runs, the most that either gives them first.
std::vector<Index> HeadsLens::tokens_shown() const {
    const std::vector<double>&before = runs()->at(0)->probabilities, &after = runs()->last()->probabilities;
    std::vector<Index> ids(before.size());
    std::iota(ids.begin(), ids.end(), Index{0});
    const auto weight = [&](Index id) {
        const auto i = static_cast<std::size_t>(id);
        return std::max(before[i], after[i]);
    };
    const auto count = std::min<std::ptrdiff_t>(most_said, std::ssize(ids));
    std::ranges::partial_sort(ids, ids.begin() + count, std::greater{}, weight);
    ids.resize(static_cast<std::size_t>(count));
    return ids;
}

void HeadsLens::draw_said(const Drawing& drawing, Subject& subject, float width) {
    if (!runs()->at(0) || !runs()->last() || std::isnan(runs()->last()->moved)) return;
    const bool both = runs()->last_setting() != 0;
    const std::vector<Index> ids = tokens_shown();
    Matrix values(std::ssize(ids), both ? 2 : 1);
    std::vector<std::string> rows, columns{"as it is"};
    if (both) columns.emplace_back("then");
    for (const Index id : ids) {
        const auto i = static_cast<std::size_t>(id), r = rows.size();
        rows.push_back(vocabulary_.name(subject, static_cast<std::int32_t>(id)));
        values.at(static_cast<Index>(r), 0) = runs()->at(0)->probabilities[i];
        if (both) values.at(static_cast<Index>(r), 1) = runs()->last()->probabilities[i];
    }
    ui::MatrixGrid grid;
    grid.name = "heads/said";
    grid.title = "What the model says";
    grid.notation = "probabilities " + prediction_in_words(*subject.attention()) + ", " + at_temperature;
    grid.values = &values;
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "token";
    grid.column_axis = "run";
    grid.most = 1;
    heads_view::draw_grid(
        grid, width,
        [&](ui::CellAt at) {
            return heads_cells::probability(cache_of(now().part), at.second,
                                            ids[static_cast<std::size_t>(at.first)]);
        },
        drawing);
}

void HeadsLens::draw_cache(const Drawing& drawing, Subject& subject) {
    const ModelConfig& config = trace_->model()->config();
    const bool shares = now().part == HeadsPart::sharing, factored = shares || factors_->done();
    const Index wanted = setting();
    if (!factored || !runs()->at(wanted)) {
        const std::string what =
            !factored ? "Keys and values are being factored, " + percent(factors_->progress())
                      : "The text is being read with " + (wanted == 0 ? "all heads" : setting_name(wanted)) +
                            ", " + percent(runs()->progress());
        ui::caption((what + ".").c_str());
        ui::landmark_item("heads/progress");
    }
    if (factored && runs()->at(0)) {
        const auto measures = [&](float w) {
            draw_measures(drawing, w);
            draw_said(drawing, subject, w);
        };
        const auto curves = [&](float w) {
            draw_loss(drawing, w);
            draw_changes(drawing, subject, w);
        };
        ui::columns("heads/cache", ui::two_columns / 2, ui::column_gap, measures, curves);
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
