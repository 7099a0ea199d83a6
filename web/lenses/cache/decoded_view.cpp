// Draws decoding with fewer bits or fewer keys: how far the next token's distribution moves, the heads, and
// what a head keeps.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/map_view.hpp"

namespace attn::app::cache {

struct ViewMemory {
    ui::MapView map;
    parts::MapClicks clicks;
};

void forget_map(ViewMemory& seen) {
    seen.map.forget_map();
    seen.clicks = {};
}

namespace {

constexpr float step_chart_height = 190, map_height = 430, choice_name_width = 100;

// ---- Step by step -----------------------------------------------------------------------------------------

// One point for each decoded token, whose note names it; a drag goes there.
void draw_tokens(const Model& model, const Drawing& drawing, float width, const char* name, const char* title,
                 std::vector<ui::ChartCurve> curves, const CellKind& kind,
                 const std::function<ui::ChartAxis(std::span<const ui::ChartCurve>)>& axis) {
    const double first = static_cast<double>(model.shown->prompt()),
                 last = static_cast<double>(model.shown->tokens() - 1);
    for (ui::ChartCurve& curve : curves)
        for (std::size_t i = 0; i < curve.y.size(); ++i) curve.x.push_back(first + static_cast<double>(i));
    const ui::Chart chart{.name = name,
                          .title = title,
                          .x = {"token", first, std::max(last, first + 1), false, true},
                          .y = axis(curves),
                          .marked = static_cast<double>(model.query)};
    const auto reply =
        present::chart(drawing, chart, width, step_chart_height, curves,
                       [&](std::size_t, std::size_t at) { return kind(curves.front().x[at]); });
    if (reply.held)
        go(model, drawing, static_cast<Index>(std::clamp(std::round(*reply.held), first, last)),
           ui::gesture());
}

void draw_divergence(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const CachedDecoding& shown = *model.shown;
    ui::ChartCurve curve{
        .name = "KL", .colour = ui::series_colour(0), .points = shown.decoded().size() <= 64};
    for (Index query = shown.prompt(); query < shown.tokens(); ++query) {
        const CachedDecoding::Step& step = shown.at(query);
        curve.y.push_back(step.divergence);
        curve.notes.push_back(
            label_at(model.text(subject).query_names(), query) +
            (step.likeliest == step.likeliest_before ? "" : ": another token is likeliest"));
    }
    draw_tokens(model, drawing, width, "cache-divergence", "How far the next token moves", {curve},
                cells::divergence, [](auto curves) { return ui::fitted("KL, nats", curves, true); });
}

// With fewer keys, draws the weight that the chosen head loses; with fewer bits, the loss.
void draw_second_curve(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const CachedDecoding& shown = *model.shown;
    const bool keys = model.evicts();
    ui::ChartCurve after{.name = keys ? model.head_name(subject) : "with the cache",
                         .colour = ui::series_colour(keys ? 2 : 0),
                         .points = shown.decoded().size() <= 64},
        before{.name = "as it is", .colour = ui::series_colour(1), .dashed = true};
    for (Index query = shown.prompt(); query < shown.tokens(); ++query) {
        for (ui::ChartCurve* each : {&after, &before})
            each->notes.push_back(label_at(model.text(subject).query_names(), query));
        after.y.push_back(keys ? shown.lost(model.head, query) : shown.at(query).loss);
        before.y.push_back(shown.at(query).loss_before);
    }
    if (keys)
        return draw_tokens(model, drawing, width, "cache-lost", "Weight that the head loses", {after},
                           cells::lost_weight,
                           [](auto) { return ui::ChartAxis{"weight on keys that are gone", 0, 1}; });
    draw_tokens(model, drawing, width, "cache-loss", "Loss on the text’s next token", {after, before},
                cells::loss, [](auto curves) { return ui::fitted("−ln p, nats", curves, true); });
}

void draw_choices(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const CachedDecoding::Step& step = model.shown->at(model.query);
    if (step.choices.empty())
        return ui::caption("The logits here are not finite, so no token has a probability.");
    std::vector<ui::Bar> bars;
    float most = 0;
    for (const CachedDecoding::Choice& each : step.choices) {
        most = std::max(most, static_cast<float>(each.after));
        bars.push_back({model.vocabulary.name(subject, each.id), static_cast<float>(each.after),
                        fixed(each.after, 3) + "   as it is " + fixed(each.before, 3),
                        each.id == step.likeliest, false});
    }
    present::bars(drawing,
                  {.key = "cache/choices",
                   .title = "After " + query_in_words(model.text(subject), model.query) + ", it would say, " +
                            at_temperature,
                   .value = "probability",
                   .bars = bars,
                   .most = most,
                   .most_name = choice_name_width,
                   .cell = [](Index i) { return cells::probability(i); }},
                  width);
}

void draw_heads(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (const auto clicked = present::sheet(drawing, heads_sheet(model, subject), width))
        parts::choose_head(drawing, model.on_page({clicked->first, clicked->second}));
}

// ---- Eviction ---------------------------------------------------------------------------------------------

void draw_kept(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Attention& words = model.text(subject);
    const auto cell_of = [&](const std::optional<CellRef>& cell) -> std::optional<ui::MapCell> {
        if (!cell || !cell->is(cells::weight) ||
            std::max(cell->own()->at[0], cell->own()->at[1]) >= model.shown->tokens())
            return std::nullopt;
        return ui::MapCell{cell->own()->at[0], cell->own()->at[1]};
    };
    const ui::MapPicture picture{
        .name = "cache/map",
        .map = model.map.of({{model.shown, model.head.layer, model.kv_head}, model.head.head},
                            [&] { return model.kept_weights()->map(model.head.head); }),
        .query_names = words.query_names(),
        .key_names = words.key_names(),
        .title = "weight with the cache",
        .high = 1,
        .query = model.query,
        .pointed = cell_of(drawing.pointed.cell),
        .pinned = cell_of(drawing.state().pin)};
    const present::Card card(drawing,
                             {.key = "cache/map",
                              .title = "What " + model.head_name(subject) + " still sees",
                              .table = [&] { return kept_table(model, subject); },
                              .is_listed = false},
                             width);
    ViewMemory& seen = remembered(model.seen);
    const ui::MapTouch touch = seen.map.draw(picture, card.width(), map_height, drawing.deadline);
    if (touch.more) drawing.visit.continue_with([seen = model.seen] { return seen->map.step(); });
    if (!touch.over) return;
    const CellRef cell = cells::weight(touch.over->query, touch.over->key);
    drawing.now.cell = cell;
    seen.clicks.answer(drawing, touch, [&] {
        present::pin(drawing, cell);
        go(model, drawing, touch.over->query, ui::gesture());
    });
}

}  // namespace

void draw_decoded(Model& model, const Drawing& drawing, Subject& subject) {
    if (model.next) {
        ui::caption(
            ("The text is decoded again, " + percent(static_cast<double>(model.next->progress())) + " done.")
                .c_str());
        ui::landmark_item("cache/progress");
    }
    if (!model.shown) return;
    const auto curves = [&](float w) {
        draw_divergence(model, drawing, subject, w);
        draw_second_curve(model, drawing, subject, w);
        draw_choices(model, drawing, subject, w);
    };
    if (model.evicts()) {
        if (!model.kept_weights()) return ui::caption("The head’s weights are being computed.");
        const float width = ImGui::GetContentRegionAvail().x;
        present::sheet(drawing, row_sheet(model, subject), width);
        if (model.is_scored()) present::sheet(drawing, score_sheet(model, subject), width);
        const auto kept = [&](float w) {
            draw_kept(model, drawing, subject, w);
            draw_heads(model, drawing, subject, w);
        };
        return ui::unequal_columns(0.5f, present::card_gap, "kept", kept, "curves", curves);
    }
    const auto codes = [&](float w) {
        draw_heads(model, drawing, subject, w);
        if (codes_shown(model).size() == 0)
            return ui::caption(
                "No group of tokens is complete, so that nothing is rounded. Choose a smaller group.");
        for (const bool of_keys : {true, false})
            present::sheet(drawing, codes_sheet(model, subject, of_keys), w);
    };
    ui::unequal_columns(0.5f, present::card_gap, "codes", codes, "curves", curves);
}

}  // namespace attn::app::cache
