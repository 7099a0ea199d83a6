// Draws decoding with fewer bits or fewer keys: how far the next token's distribution moves, the heads, and
// what a head keeps.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float step_chart_height = 190, map_height = 430, choice_name_width = 100;

}  // namespace

// ---- Step by step -----------------------------------------------------------------------------------------

void CacheLens::draw_divergence(const Drawing& drawing, Subject& subject, float width) {
    const Attention& words = text(subject);
    ui::ChartCurve curve{
        .name = "KL", .colour = ui::series_colour(0), .points = shown_->decoded().size() <= 64};
    for (Index query = shown_->prompt(); query < shown_->tokens(); ++query) {
        const CachedDecoding::Step& step = shown_->at(query);
        curve.x.push_back(static_cast<double>(query));
        curve.y.push_back(step.divergence);
        curve.notes.push_back(label_at(words.query_names(), query) + (step.likeliest == step.likeliest_before
                                                                          ? ""
                                                                          : ": another token is likeliest"));
    }
    const ui::Chart chart{
        .name = "cache-divergence",
        .title = "How far the next token moves",
        .x = {"token", static_cast<double>(shown_->prompt()),
              static_cast<double>(std::max(shown_->tokens() - 1, shown_->prompt() + 1)), false, true},
        .y = ui::fitted("KL, nats", {&curve, 1}, true),
        .marked = static_cast<double>(query(subject))};
    const auto reply =
        present::chart(drawing, chart, width, step_chart_height, {&curve, 1},
                       [&](std::size_t, std::size_t at) { return cache_cells::divergence(curve.x[at]); });
    if (reply.held)
        go(drawing, subject,
           std::clamp<Index>(std::lround(*reply.held), shown_->prompt(), shown_->tokens() - 1),
           ui::gesture());
}

// With fewer keys, draws the weight that the chosen head loses; with fewer bits, the loss.
void CacheLens::draw_second_curve(const Drawing& drawing, Subject& subject, float width) {
    const bool keys = evicts();
    const Attention& words = text(subject);
    ui::ChartCurve after{.name = keys ? head_name(subject) : "with the cache",
                         .colour = ui::series_colour(keys ? 2 : 0)},
        before{.name = "as it is", .colour = ui::series_colour(1), .dashed = true};
    after.points = shown_->decoded().size() <= 64;
    for (Index query = shown_->prompt(); query < shown_->tokens(); ++query) {
        const CachedDecoding::Step& step = shown_->at(query);
        for (ui::ChartCurve* each : {&after, &before}) {
            each->x.push_back(static_cast<double>(query));
            each->notes.push_back(label_at(words.query_names(), query));
        }
        after.y.push_back(keys ? shown_->lost(head(subject), query) : step.loss);
        before.y.push_back(step.loss_before);
    }
    std::vector<ui::ChartCurve> curves{after};
    if (!keys) curves.push_back(before);
    const ui::Chart chart{
        .name = keys ? "cache-lost" : "cache-loss",
        .title = keys ? "Weight that the head loses" : "Loss on the text’s next token",
        .x = {"token", static_cast<double>(shown_->prompt()),
              static_cast<double>(std::max(shown_->tokens() - 1, shown_->prompt() + 1)), false, true},
        .y = keys ? ui::ChartAxis{"weight on keys that are gone", 0, 1}
                  : ui::fitted("−ln p, nats", curves, true),
        .marked = static_cast<double>(query(subject))};
    const auto reply =
        present::chart(drawing, chart, width, step_chart_height, curves, [&](std::size_t, std::size_t at) {
            return (keys ? cache_cells::lost_weight : cache_cells::loss)(after.x[at]);
        });
    if (reply.held)
        go(drawing, subject,
           std::clamp<Index>(std::lround(*reply.held), shown_->prompt(), shown_->tokens() - 1),
           ui::gesture());
}

void CacheLens::draw_choices(const Drawing& drawing, Subject& subject, float width) {
    const Index at = query(subject);
    const CachedDecoding::Step& step = shown_->at(at);
    if (step.choices.empty())
        return ui::caption("The logits here are not finite, so no token has a probability.");
    std::vector<ui::Bar> bars;
    float most = 0;
    for (const CachedDecoding::Choice& each : step.choices) {
        most = std::max(most, static_cast<float>(each.after));
        bars.push_back({vocabulary_.name(subject, each.id), static_cast<float>(each.after),
                        fixed(each.after, 3) + "   as it is " + fixed(each.before, 3),
                        each.id == step.likeliest, false});
    }
    present::bars(
        drawing,
        {.key = "cache/choices",
         .title = "After " + query_in_words(text(subject), at) + ", it would say, " + at_temperature,
         .value = "probability",
         .bars = bars,
         .most = most,
         .most_name = choice_name_width,
         .cell = [](Index i) { return cache_cells::probability(i); }},
        width);
}

void CacheLens::draw_heads(const Drawing& drawing, Subject& subject, float width) {
    if (const auto clicked = present::sheet(drawing, heads_sheet(subject), width))
        parts::choose_head(drawing,
                           run_cell(subject, {clicked->first, clicked->second}, Stage::weight, 0, 0).head);
}

// ---- Eviction ---------------------------------------------------------------------------------------------

void CacheLens::draw_kept(const Drawing& drawing, Subject& subject, float width) {
    const Attention& words = text(subject);
    const HeadIndex of = head(subject);
    if (const std::pair wanted{&kept_head()->record(), of.head}; mapped_ != wanted) {
        map_ = kept_head()->map(of.head);
        mapped_ = wanted;
    }
    ui::MapPicture picture{.name = "cache/map",
                           .map = map_,
                           .query_names = words.query_names(),
                           .key_names = words.key_names(),
                           .choice = {},
                           .title = "weight with the cache",
                           .high = 1};
    picture.query = query(subject);
    const auto cell_of = [&](const std::optional<CellRef>& cell) -> std::optional<ui::MapCell> {
        if (!cell || !cell->is(cache_cells::weight) ||
            std::max(cell->own.at[0], cell->own.at[1]) >= shown_->tokens())
            return std::nullopt;
        return ui::MapCell{cell->own.at[0], cell->own.at[1]};
    };
    picture.pointed = cell_of(drawing.pointed.cell);
    picture.pinned = cell_of(drawing.state().pin);
    const present::Card card(drawing,
                             {.key = "cache/map",
                              .title = "What " + head_name(subject) + " still sees",
                              .table = [&] { return kept_table(subject); },
                              .is_listed = false},
                             width);
    const ui::MapTouch touch = view_.draw(picture, card.width(), map_height, drawing.deadline);
    if (touch.more) drawing.visit.continue_with([this] { return view_.step(); });
    if (!touch.over) return;
    const auto [row, key] = *touch.over;
    const CellRef cell = cache_cells::weight(row, key);
    drawing.now.cell = cell;
    clicks_.answer(drawing, touch, [&, at = row] {
        present::pin(drawing, cell);
        go(drawing, subject, at, ui::gesture());
    });
}

void CacheLens::draw_decoded(const Drawing& drawing, Subject& subject) {
    if (next_) {
        ui::caption(
            ("The text is decoded again, " + percent(static_cast<double>(next_->progress())) + " done.")
                .c_str());
        ui::landmark_item("cache/progress");
    }
    if (!shown_) return;
    const auto curves = [&](float w) {
        draw_divergence(drawing, subject, w);
        draw_second_curve(drawing, subject, w);
        draw_choices(drawing, subject, w);
    };
    if (evicts()) {
        if (!kept_head()) return ui::caption("The head’s weights are being computed.");
        const float width = ImGui::GetContentRegionAvail().x;
        present::sheet(drawing, row_sheet(subject), width);
        if (is_scored(subject)) present::sheet(drawing, score_sheet(subject), width);
        const auto kept = [&](float w) {
            draw_kept(drawing, subject, w);
            draw_heads(drawing, subject, w);
        };
        return ui::unequal_columns(0.5f, present::card_gap, "kept", kept, "curves", curves);
    }
    const auto codes = [&](float w) {
        draw_heads(drawing, subject, w);
        if (codes_shown(subject).size() == 0)
            return ui::caption(
                "No group of tokens is complete, so that nothing is rounded. Choose a smaller group.");
        for (const bool of_keys : {true, false}) present::sheet(drawing, codes_sheet(subject, of_keys), w);
    };
    ui::unequal_columns(0.5f, present::card_gap, "codes", codes, "curves", curves);
}

}  // namespace attn::app
