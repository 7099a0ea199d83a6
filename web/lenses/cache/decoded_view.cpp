// Draws what is decoded with fewer bits or fewer keys: the next token's way off, the heads, what a head keeps.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/cache/cache.hpp"
#include "lenses/cache/view.hpp"
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

constexpr float step_chart_height = 190, map_height = 430, names_width = 90, least_cell = 36, code_cell = 30;
constexpr Index most_keys = 24;

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
    const ui::ChartReply reply = present::chart(drawing, chart, width, step_chart_height, {&curve, 1});
    if (reply.held)
        go(drawing, subject,
           std::clamp<Index>(std::lround(*reply.held), shown_->prompt(), shown_->tokens() - 1),
           ui::gesture());
    if (reply.over) point(drawing, cache_cells::divergence(curve.x[reply.over->point]), reply.clicked);
}

// With fewer keys the weight that the chosen head loses, with fewer bits the loss.
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
    const ui::ChartReply reply = present::chart(drawing, chart, width, step_chart_height, curves);
    if (reply.held)
        go(drawing, subject,
           std::clamp<Index>(std::lround(*reply.held), shown_->prompt(), shown_->tokens() - 1),
           ui::gesture());
    if (reply.over)
        point(drawing, (keys ? cache_cells::lost_weight : cache_cells::loss)(after.x[reply.over->point]),
              reply.clicked);
}

void CacheLens::draw_choices(const Drawing& drawing, Subject& subject, float width) {
    const Index at = query(subject);
    const CachedDecoding::Step& step = shown_->at(at);
    const std::string title =
        "After " + query_in_words(text(subject), at) + ", it would say, " + at_temperature;
    ui::section(title.c_str());
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
    const auto over = ui::bar_list("cache/choices", title, width, bars, most, ui::sequential_scale(1), 100);
    if (over) point(drawing, cache_cells::probability(*over), ui::clicked());
}

void CacheLens::draw_heads(const Drawing& drawing, Subject& subject, float width) {
    const Index layers = std::ssize(trace_->layers()), heads = trace_->model()->config().heads;
    Matrix values(layers, heads);
    std::vector<std::string> rows, columns;
    for (Index h = 0; h < heads; ++h) columns.push_back("h" + std::to_string(h));
    for (Index l = 0; l < layers; ++l) {
        const HeadIndex in_run = run_cell(subject, {l, 0}, Stage::weight, 0, 0).head;
        rows.push_back(subject.attention()->numbering().name(in_run.layer));
        for (Index h = 0; h < heads; ++h) values.at(l, h) = mean_of({l, h});
    }
    ui::MatrixGrid grid;
    grid.name = "cache/heads";
    grid.title = evicts() ? "Weight lost by each head" : "How far each head’s output moves";
    grid.notation = evicts() ? "mean over the steps" : "‖o′ − o‖ / ‖o‖, mean over the steps";
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "layer";
    grid.column_axis = "head";
    if (evicts()) grid.most = 1;
    const HeadIndex chosen = head(subject);
    grid.lit_row = chosen.layer;
    grid.lit_column = chosen.head;
    const auto cell_of = [&](ui::CellAt at) { return cache_cells::head(at.first, at.second); };
    if (const auto clicked = cache_view::draw_grid(grid, values, width, cell_of, drawing))
        parts::choose_head(drawing,
                           run_cell(subject, {clicked->first, clicked->second}, Stage::weight, 0, 0).head);
}

// ---- Eviction ---------------------------------------------------------------------------------------------

void CacheLens::draw_kept(const Drawing& drawing, Subject& subject, float width) {
    const Attention& words = text(subject);
    ui::section(("What " + head_name(subject) + " still sees").c_str());
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
    const ui::MapTouch touch = view_.draw(picture, width, map_height, drawing.deadline);
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

// The chosen query's row, as it is and with what is left, and what decided about each key.
void CacheLens::draw_row(const Drawing& drawing, Subject& subject, float width) {
    const Attention& words = text(subject);
    const Index at = query(subject);
    const HeadIndex of = head(subject);
    const auto fit = std::clamp<Index>(static_cast<Index>((width - names_width) / least_cell), 4, most_keys);
    const ShownTokens keys = keys_shown(subject, fit);
    const Record& before = trace_->layers()[static_cast<std::size_t>(of.layer)].attention;
    const std::vector<float> weights = before.weights(of.head, at);
    const bool scored =
        std::ranges::any_of(keys, [&](Index key) { return score_of(subject, key).has_value(); });
    Matrix values(2, keys.size()), scores(1, keys.size());
    std::vector<std::string> columns;
    for (Index c = 0; c < values.cols; ++c) {
        const Index key = keys[c];
        columns.push_back(cache_view::short_name(words.key_names(), key));
        values.at(0, c) = static_cast<double>(weights[static_cast<std::size_t>(key)]);
        values.at(1, c) =
            kept_head()->sees(at, key)
                ? static_cast<double>(kept_head()->record().cell(Stage::weight, of.head, at, key))
                : NAN;
        scores.at(0, c) = score_of(subject, key).value_or(NAN);
    }
    const std::vector<std::string> rows{"as it is", "with the cache"}, score_row{"score"};
    ui::MatrixGrid grid;
    grid.name = "cache/row";
    grid.title = "Weights of " + query_in_words(words, at);
    grid.notation = keys.size() <= at ? "the keys that are left, and those it loses most on"
                                      : "struck out: gone from the cache";
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "weight";
    grid.column_axis = "key";
    grid.most = 1;
    const auto weight_cell = [&](ui::CellAt cell) {
        const Index key = keys[cell.second];
        return (cell.first == 0 ? cache_cells::full_weight : cache_cells::weight)(at, key);
    };
    cache_view::draw_grid(grid, values, width, weight_cell, drawing);
    if (!scored) return;
    ui::MatrixGrid decides;
    decides.name = "cache/score";
    decides.title = "What speaks for a key";
    decides.notation = eviction().policy == EvictionPolicy::heavy_hitters
                           ? "Σ of the weights that it got so far; the newest stay anyway"
                           : "Σ of the weights that the end of the prompt gave it or a neighbour";
    decides.row_labels = score_row;
    decides.column_labels = columns;
    decides.row_axis = "score";
    decides.column_axis = "key";
    cache_view::draw_grid(
        decides, scores, width, [&](ui::CellAt cell) { return cache_cells::score(keys[cell.second]); },
        drawing);
}

// ---- Bits -------------------------------------------------------------------------------------------------

void CacheLens::draw_codes(const Drawing& drawing, Subject& subject, bool of_keys, float width) {
    const Range tokens = codes_shown(subject);
    if (tokens.size() == 0) {
        if (of_keys)
            ui::caption(
                "No group of tokens is complete, so that nothing is rounded. Choose a smaller group.");
        return;
    }
    const HeadIndex of = head(subject);
    const CacheRounding& to = rounding();
    const ConstMatrix numbers =
        (of_keys ? shown_->k(of.layer) : shown_->v(of.layer)).heads().head(kv_head(of));
    const Index channels = std::min(numbers.cols, static_cast<Index>((width - names_width) / code_cell));
    Matrix values(tokens.size(), std::max<Index>(channels, 1));
    std::vector<std::string> rows, columns;
    ui::MatrixGrid grid;
    for (Index c = 0; c < values.cols; ++c) columns.push_back(std::to_string(c));
    for (Index token = tokens.begin; token < tokens.end; ++token) {
        rows.push_back(cache_view::short_name(text(subject).key_names(), token));
        for (Index c = 0; c < values.cols; ++c) {
            const float number = numbers(token, c);
            double& shown = values.at(token - tokens.begin, c);
            if (to.bits == 16) {
                shown = static_cast<double>(number);
                continue;
            }
            const RoundedGroup group =
                of_keys ? group_of_key(to, numbers, token, c) : group_of_value(to, numbers, token, c);
            const Index code = group.code(number, to.bits);
            shown = static_cast<double>(code);
            grid.texts.push_back(std::to_string(code));
        }
    }
    grid.coloured_texts = true;
    grid.name = of_keys ? "cache/key" : "cache/value";
    grid.first = {tokens.begin, 0};
    grid.title = of_keys ? "Keys in the cache" : "Values in the cache";
    grid.notation = to.bits == 16 ? "as f16"
                    : of_keys     ? "codes between the least and the largest of each column"
                                  : "codes between the least and the largest of each row’s group";
    if (to.bits == 16) grid.is_signed = true;
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "token";
    grid.column_axis = "channel";
    const CellKind& kind = of_keys ? cache_cells::key : cache_cells::value;
    cache_view::draw_grid(
        grid, values, width, [&](ui::CellAt at) { return kind(tokens.begin + at.first, at.second); },
        drawing);
    if (!of_keys && channels < numbers.cols)
        ui::caption(
            ("Shown are " + std::to_string(channels) + " of " + many(numbers.cols, "channel") + ".").c_str());
}

void CacheLens::draw_decoded(const Drawing& drawing, Subject& subject) {
    if (next_) {
        ui::caption(
            ("The text is decoded again, " + percent(static_cast<double>(next_->progress())) + " done.")
                .c_str());
        ui::landmark_item("cache/progress");
    }
    if (!shown_) return;
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor((width - ui::column_gap) / 2) : width;
    const auto curves = [&](float w) {
        draw_divergence(drawing, subject, w);
        draw_second_curve(drawing, subject, w);
        draw_choices(drawing, subject, w);
    };
    if (evicts()) {
        if (!kept_head()) return ui::caption("The head’s weights are being computed.");
        draw_row(drawing, subject, width);
        ui::column("kept", left, [&](float w) {
            draw_kept(drawing, subject, w);
            draw_heads(drawing, subject, w);
        });
    } else {
        ui::column("codes", left, [&](float w) {
            draw_heads(drawing, subject, w);
            draw_codes(drawing, subject, true, w);
            draw_codes(drawing, subject, false, w);
        });
    }
    if (beside) ImGui::SameLine(0, ui::column_gap);
    ui::column("curves", beside ? width - left - ui::column_gap : width, curves);
}

}  // namespace attn::app
