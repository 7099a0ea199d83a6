// Draws the mask, its effect on the weights, rows without a key, what each row loses, and what the model
// predicts.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/masks/view.hpp"
#include "model/network.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/map_stroke.hpp"

namespace attn::app::masks {

namespace {

constexpr float map_height = 460, chart_height = 230, bar_name_width = 120;
constexpr Index points_shown = 512;

// Writes a large count briefly: "1.23 million".
std::string in_short(std::int64_t n) {
    const auto value = static_cast<double>(n);
    if (n < 100'000) return with_commas(n);
    if (n < 1'000'000'000) return fixed(value / 1e6, n < 10'000'000 ? 2 : 1) + " M";
    return fixed(value / 1e9, n < 10'000'000'000 ? 2 : 1) + " G";
}

void paint(Model& model, const Drawing& drawing, const ui::MapTouch& touch) {
    ViewMemory& seen = remembered(model.seen);
    std::optional<ViewMemory::Stroke>& begun = seen.stroke;
    std::optional<ui::MapStroke> stroke = touch.stroke;
    Index side = seen.view.brush_side();
    bool ended = touch.stroke_ended;
    if (touch.clicked && touch.over) {  // with the keyboard, only this cell
        stroke = ui::MapStroke{*touch.over, *touch.over, true};
        side = 1;
        ended = true;
    }
    if (stroke && stroke->begins)
        begun = {.allowed =
                     !model.looked.mask.allows(model.looked.head.head, stroke->from.query, stroke->from.key)};
    if (!begun) return;
    if (stroke)
        for (const MapWindow& square : ui::stroke_squares(stroke->from, stroke->to, side)) {
            begun->cells.add(square.queries, square.keys);
            begun->squares.push_back(square);
        }
    // Chips that appear or disappear would move the map under the cursor, so they wait for the end of the
    // stroke.
    if (!ended) return;
    set_mask(model, drawing, with_cells(model.state.mask, begun->cells, begun->allowed));
    begun.reset();
}

}  // namespace

void draw_map(Model& model, const Drawing& drawing, float width) {
    ViewMemory& seen = remembered(model.seen);
    ui::MapView& view = seen.view;
    ui::MapPicture picture{
        .name = "masks/map",
        .map = model.map,
        .query_names = model.query_names,
        .key_names = model.key_names,
        .choice = {.stage = Stage::contribution, .pooling = Pooling::mean, .scaling = Scaling::logarithmic},
        .title = "share of keys seen",
        .high = 1,
        .decimals = 0};
    if (model.looked.is_of_subject()) {
        picture.query = selection_of(drawing).query;
        picture.key = selection_of(drawing).key;
        if (picture.query && *picture.query >= model.looked.queries) picture.query.reset();
        if (picture.key && *picture.key >= model.looked.keys) picture.key.reset();
    }
    const auto cell_of = [&](const std::optional<CellRef>& cell) -> std::optional<ui::MapCell> {
        if (!cell || !cell->is(cells::mask)) return std::nullopt;
        const Index query = cell->own()->at[0], key = cell->own()->at[1];
        if (query >= model.looked.queries || key >= model.looked.keys) return std::nullopt;
        return ui::MapCell{query, key};
    };
    if (const auto& stroke = seen.stroke) {
        picture.painted = stroke->squares;
        picture.painted_as = stroke->allowed ? 1 : 0;
    }
    picture.pointed = cell_of(drawing.pointed.cell);
    picture.pinned = cell_of(drawing.state().pin);
    const ui::MapTouch touch = [&] {
        const present::Card card(drawing,
                                 {.key = "masks/map",
                                  .title = "Mask",
                                  .table = [&] { return map_table(model); },
                                  .is_listed = false},
                                 width);
        return view.draw(picture, card.width(), map_height, drawing.deadline);
    }();
    if (touch.more) drawing.visit.continue_with([seen = model.seen] { return seen->view.step(); });
    if (view.painting) {
        const Index side = view.brush_side();
        ui::caption(("Press on a cell and drag: all cells on the way become what the first one becomes." +
                     (side == 1 ? std::string()
                                : " At this zoom a point paints " + with_commas(side) + " × " +
                                      with_commas(side) + " cells."))
                        .c_str());
        paint(model, drawing, touch);
    }
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    const CellRef cell = cells::mask(query, key);
    drawing.now.cell = cell;
    if (model.looked.is_of_subject()) drawing.point(query, key);
    if (view.painting) return;
    seen.clicks.answer(drawing, touch, [&] {
        present::pin(drawing, cell);
        if (model.looked.is_of_subject()) parts::choose_tokens(drawing, query, key);
    });
}

void draw_counts(Model& model, const Drawing& drawing, float width) {
    const MaskCounts& counts = model.counting->counts();
    const auto share = [](std::int64_t part, std::int64_t of) {
        return of ? static_cast<double>(part) / static_cast<double>(of) : 0.0;
    };
    std::vector<ui::Bar> bars;
    const auto bar = [&](const char* name, std::int64_t part, std::int64_t of) {
        bars.push_back({name, static_cast<float>(share(part, of)),
                        percent(share(part, of)) + " · " + in_short(part) + " of " + in_short(of)});
    };
    const auto adds = [&](std::int64_t cells) {
        return MaskCounts::multiply_adds(cells, model.d_k, model.d_v);
    };
    bar("cells kept", counts.kept_cells, counts.cells());
    bar("tiles skipped", counts.skipped, counts.tiles);
    bar("multiply-adds", adds(counts.computed), adds(counts.cells()));
    bar("queries, no key", counts.rows_without_key(), counts.queries);
    if (model.race && model.race->done())
        bars.push_back({"kernel's time", static_cast<float>(model.race->ratio()),
                        percent(model.race->ratio()) + " of " +
                            rounded(model.race->whole_ms() / model.race->passes(),
                                    model.race->whole_ms() < 100 * model.race->passes() ? 2 : 0) +
                            " ms"});
    if (!model.counting->done()) return ui::caption("Counting.");
    present::bars(drawing,
                  {.key = "masks/counts",
                   .title = "What it leaves",
                   .value = "share",
                   .bars = std::move(bars),
                   .most_name = bar_name_width,
                   .cell = [](Index bar) { return cells::share(bar); }},
                  width);
    ui::landmark_item("masks/counted");
    const bool racing = model.race && !model.race->done();
    const Status possible = racing ? Status(Error{"Measuring; wait until it is done."})
                            : model.looked.mask.is_everything()
                                ? Error{"This compares a mask with none, and there is no mask here."}
                                : ok();
    if (ui::button("masks/measure", racing ? "Measuring" : "Measure the time",
                   {"Measuring", "Measure the time"}, possible))
        model.start_race();
    if (possible)
        ui::tooltip("Runs the kernel under this mask and without a mask, in turn, on seeded vectors");
}

void draw_empty_rows(Model& model, const Drawing& drawing, float width) {
    if (!model.counting->done() || model.looked.queries == 0 || model.looked.keys == 0) return;
    present::sheet(drawing, empty_sheet(model), width);
    const Index without = model.counting->counts().rows_without_key();
    ui::caption(without > 0
                    ? ((without == 1 ? "One query" : with_commas(without) + " queries") +
                       " may look at nothing. What becomes of that is a convention, and models differ.")
                          .c_str()
                    : "The first three agree here, and a sink takes its share of every row.");
}

void draw_losses(const Model& model, const Drawing& drawing, float width) {
    if (!model.lost_of_own) return;
    std::vector<ui::ChartCurve> curves;
    std::vector<LostOf> drawn;
    const auto add = [&](const std::optional<RowLosses>& losses, const char* name, LostOf of) {
        if (!losses || !losses->done()) return;
        ui::ChartCurve curve{
            .name = name, .colour = ui::series_colour(curves.size()), .dashed = !curves.empty()};
        const std::vector<double>& lost = losses->lost();
        const Index n = std::ssize(lost), together = (n + points_shown - 1) / points_shown;
        curve.points = n <= 64;
        // If points would share a pixel, a point is the mean of several, in a band from their least to their
        // largest.
        for (Index i = 0; i < n; i += together) {
            const auto part = std::span(lost).subspan(static_cast<std::size_t>(i),
                                                      static_cast<std::size_t>(std::min(together, n - i)));
            double sum = 0;
            for (const double each : part) sum += each;
            curve.add(static_cast<double>(i), sum / static_cast<double>(part.size()));
            if (together == 1) continue;
            curve.band_low.push_back(std::ranges::min(part));
            curve.band_high.push_back(std::ranges::max(part));
        }
        curves.push_back(std::move(curve));
        drawn.push_back(of);
    };
    add(model.lost_of_all, "of the weights without any mask", LostOf::all);
    add(model.lost_of_own, "of this head as it is", LostOf::own);
    if (curves.empty()) return ui::caption("Adding up what each query loses.");
    const auto last = static_cast<double>(std::max<Index>(model.looked.queries - 1, 1));
    ui::Chart chart{.name = "masks/lost",
                    .title = "What each query loses",
                    .x = {"query", 0, last, false, true},
                    .y = {"weight on hidden keys", 0, 1, false},
                    .marked = {}};
    // Weights from a file may have any size.
    if (const ui::ChartAxis all = ui::fitted(chart.y.title, curves, true); all.high > 1.2 || all.low < 0)
        chart.y = all;
    if (const auto query = selection_of(drawing).query; query && *query < model.looked.queries)
        chart.marked = static_cast<double>(*query);
    const auto query_of = [&](std::size_t curve, std::size_t point) {
        return static_cast<Index>(curves[curve].x[point]);
    };
    const ui::ChartReply reply = present::chart(
        drawing, chart, width, chart_height, curves, [&](std::size_t curve, std::size_t point) {
            return cells::hidden_weight(drawn[curve], query_of(curve, point));
        });
    const std::vector<double>& own = model.lost_of_own->lost();
    if (const auto odd = std::ranges::count_if(own, [](double lost) { return std::isnan(lost); });
        odd > 0 && model.lost_of_own->done())
        ui::caption((with_commas(odd) + (odd == 1 ? " query has weights" : " queries have weights") +
                     " that are not numbers, so the curve has gaps.")
                        .c_str());
    if (reply.held)
        parts::choose_tokens(drawing,
                             std::clamp<Index>(std::lround(*reply.held), 0, model.looked.queries - 1),
                             selection_of(drawing).key);
    if (reply.over) drawing.point(query_of(reply.over->curve, reply.over->point), std::nullopt);
}

void draw_predictions(Model& model, const Drawing& drawing, Subject& subject) {
    const Attention& attention = *subject.attention();
    const bool next = attention.trace()->model()->network().causal;
    const std::string what = next ? "Next token" : "Prediction " + prediction_in_words(attention);
    if (const Status run = model.masked_run.follow(*subject.attention(), model.looked.mask); !run)
        return ui::caption((capitalised(run.error().message) + ".").c_str());
    if (!model.masked_run.done()) return ui::caption("The model runs under this mask.");
    if (model.masked_run.tokens().empty())
        return ui::caption("The logits are not finite, so there are no probabilities.");
    static constexpr std::array kinds{"", " of the encoder", " of the decoder’s own attention",
                                      " of cross-attention"};
    ui::caption(("In every layer and head" +
                 std::string(kinds[static_cast<std::size_t>(kind_of(attention))]) +
                 " this mask takes the place of the model's own. It moves " +
                 percent(model.masked_run.moved()) + " of the probability " + at_temperature + ".")
                    .c_str());
    ui::landmark_item("masks/moved");
    const std::vector<std::string> names = subject.token_texts(model.masked_run.tokens());
    const auto list = [&](const char* key, const char* how, const std::vector<double>& shares) {
        return [&, key, how](float wide) {
            present::Bars list{
                .key = key,
                .title = what + ", " + how,
                .notation = at_temperature,
                .value = "probability",
                .most = 0,
                .cell = [&model](Index i) {
                    return cells::probability(model.masked_run.tokens()[static_cast<std::size_t>(i)]);
                }};
            for (std::size_t i = 0; i < model.masked_run.tokens().size(); ++i) {
                const double share = shares[static_cast<std::size_t>(model.masked_run.tokens()[i])];
                list.most = std::max(list.most, static_cast<float>(share));
                list.bars.push_back(
                    {i < names.size() ? names[i] : "", static_cast<float>(share), fixed(share, 4)});
            }
            present::bars(drawing, list, wide);
        };
    };
    ui::columns("masks/model", (ui::two_columns - present::card_gap) / 2, present::card_gap,
                list("masks/before", "as it is", model.masked_run.chances_before()),
                list("masks/after", "under this mask", model.masked_run.chances_after()));
}

}  // namespace attn::app::masks
