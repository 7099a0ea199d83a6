// Draws the mask, its effect on the weights, rows without a key, what each row loses, and what the model
// predicts.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/masks/masks.hpp"
#include "model/network.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

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

}  // namespace

void MasksLens::draw_map(const Drawing& drawing, float width) {
    ui::MapPicture picture{
        .name = "masks/map",
        .map = map_,
        .query_names = query_names_,
        .key_names = key_names_,
        .choice = {.stage = Stage::contribution, .pooling = Pooling::mean, .scaling = Scaling::logarithmic},
        .title = "share of keys seen",
        .high = 1,
        .decimals = 0};
    if (of_subject()) {
        picture.query = selection_of(drawing).query;
        picture.key = selection_of(drawing).key;
        if (picture.query && *picture.query >= looked_->queries) picture.query.reset();
        if (picture.key && *picture.key >= looked_->keys) picture.key.reset();
    }
    const auto cell_of = [&](const std::optional<CellRef>& cell) -> std::optional<ui::MapCell> {
        if (!cell || !cell->is(masks_cells::mask)) return std::nullopt;
        const Index query = cell->own.at[0], key = cell->own.at[1];
        if (query >= looked_->queries || key >= looked_->keys) return std::nullopt;
        return ui::MapCell{query, key};
    };
    if (stroke_) {
        picture.painted = stroke_->squares;
        picture.painted_as = stroke_->allowed ? 1 : 0;
    }
    picture.pointed = cell_of(drawing.pointed.cell);
    picture.pinned = cell_of(drawing.state().pin);
    const ui::MapTouch touch = [&] {
        const present::Card card(drawing,
                                 {.key = "masks/map",
                                  .title = "Mask",
                                  .table = [this] { return map_table(); },
                                  .is_listed = false},
                                 width);
        return view_.draw(picture, card.width(), map_height, drawing.deadline);
    }();
    if (touch.more) drawing.visit.continue_with([this] { return view_.step(); });
    if (view_.painting) {
        const Index side = view_.brush_side();
        ui::caption(("Press on a cell and drag: all cells on the way become what the first one becomes." +
                     (side == 1 ? std::string()
                                : " At this zoom a point paints " + with_commas(side) + " × " +
                                      with_commas(side) + " cells."))
                        .c_str());
        paint(touch);
    }
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    const CellRef cell = masks_cells::mask(query, key);
    drawing.now.cell = cell;
    if (of_subject()) drawing.point(query, key);
    if (view_.painting) return;
    clicks_.answer(drawing, touch, [&] {
        present::pin(drawing, cell);
        if (of_subject()) parts::choose_tokens(drawing, query, key);
    });
}

void MasksLens::paint(const ui::MapTouch& touch) {
    std::optional<ui::MapStroke> stroke = touch.stroke;
    Index side = view_.brush_side();
    bool ended = touch.stroke_ended;
    if (touch.clicked && touch.over) {  // with the keyboard, only this cell
        stroke = ui::MapStroke{*touch.over, *touch.over, true};
        side = 1;
        ended = true;
    }
    if (stroke && stroke->begins)
        stroke_ =
            Stroke{.allowed = !looked_->mask.allows(looked_->head.head, stroke->from.query, stroke->from.key),
                   .cells = {},
                   .squares = {}};
    if (!stroke_) return;
    if (stroke)
        for (const MapWindow& square : stroke_squares(stroke->from, stroke->to, side)) {
            stroke_->cells.add(square.queries, square.keys);
            stroke_->squares.push_back(square);
        }
    // Chips that appear or disappear would move the map under the cursor, so they wait for the end of the
    // stroke.
    if (!ended) return;
    MasksState tried = now();
    tried.mask = with_cells(tried.mask, stroke_->cells, stroke_->allowed);
    stroke_.reset();
    set(tried);
}

void MasksLens::draw_counts(const Drawing& drawing, float width) {
    const MaskCounts& counts = counting_->counts();
    const auto share = [](std::int64_t part, std::int64_t of) {
        return of ? static_cast<double>(part) / static_cast<double>(of) : 0.0;
    };
    std::vector<ui::Bar> bars;
    const auto bar = [&](const char* name, std::int64_t part, std::int64_t of) {
        bars.push_back({name, static_cast<float>(share(part, of)),
                        percent(share(part, of)) + " · " + in_short(part) + " of " + in_short(of)});
    };
    const auto adds = [&](std::int64_t cells) { return MaskCounts::multiply_adds(cells, d_k_, d_v_); };
    bar("cells kept", counts.kept_cells, counts.cells());
    bar("tiles skipped", counts.skipped, counts.tiles);
    bar("multiply-adds", adds(counts.computed), adds(counts.cells()));
    bar("queries, no key", counts.rows_without_key(), counts.queries);
    if (race_ && race_->done())
        bars.push_back({"kernel's time", static_cast<float>(race_->ratio()),
                        percent(race_->ratio()) + " of " +
                            rounded(race_->whole_ms() / race_->passes(),
                                    race_->whole_ms() < 100 * race_->passes() ? 2 : 0) +
                            " ms"});
    if (!counting_->done()) return ui::caption("Counting.");
    present::bars(drawing,
                  {.key = "masks/counts",
                   .title = "What it leaves",
                   .value = "share",
                   .bars = std::move(bars),
                   .most_name = bar_name_width,
                   .cell = [](Index bar) { return masks_cells::share(bar); }},
                  width);
    ui::landmark_item("masks/counted");
    const bool racing = race_ && !race_->done();
    const Status possible = racing ? Status(Error{"Measuring; wait until it is done."})
                            : looked_->mask.is_everything()
                                ? Error{"This compares a mask with none, and there is no mask here."}
                                : ok();
    if (ui::button("masks/measure", racing ? "Measuring" : "Measure the time",
                   {"Measuring", "Measure the time"}, possible))
        start_race();
    if (possible)
        ui::tooltip("Runs the kernel under this mask and without a mask, in turn, on seeded vectors");
}

void MasksLens::draw_empty_rows(const Drawing& drawing, float width) {
    if (!counting_->done() || looked_->queries == 0 || looked_->keys == 0) return;
    present::sheet(drawing, empty_sheet(), width);
    const Index without = counting_->counts().rows_without_key();
    ui::caption(empty_example().without_key
                    ? ((without == 1 ? "One query" : with_commas(without) + " queries") +
                       " may look at nothing. What becomes of that is a convention, and models differ.")
                          .c_str()
                    : "The first three agree here, and a sink takes its share of every row.");
}

void MasksLens::draw_losses(const Drawing& drawing, float width) {
    if (!lost_of_own_) return;
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
            curve.x.push_back(static_cast<double>(i));
            curve.y.push_back(sum / static_cast<double>(part.size()));
            if (together == 1) continue;
            curve.band_low.push_back(std::ranges::min(part));
            curve.band_high.push_back(std::ranges::max(part));
        }
        curves.push_back(std::move(curve));
        drawn.push_back(of);
    };
    add(lost_of_all_, "of the weights without any mask", LostOf::all);
    add(lost_of_own_, "of this head as it is", LostOf::own);
    if (curves.empty()) return ui::caption("Adding up what each query loses.");
    const auto last = static_cast<double>(std::max<Index>(looked_->queries - 1, 1));
    ui::Chart chart{.name = "masks/lost",
                    .title = "What each query loses",
                    .x = {"query", 0, last, false, true},
                    .y = {"weight on hidden keys", 0, 1, false},
                    .marked = {}};
    // Weights from a file may have any size.
    if (const ui::ChartAxis all = ui::fitted(chart.y.title, curves, true); all.high > 1.2 || all.low < 0)
        chart.y = all;
    if (const auto query = selection_of(drawing).query; query && *query < looked_->queries)
        chart.marked = static_cast<double>(*query);
    const auto query_of = [&](std::size_t curve, std::size_t point) {
        return static_cast<Index>(curves[curve].x[point]);
    };
    const ui::ChartReply reply = present::chart(
        drawing, chart, width, chart_height, curves, [&](std::size_t curve, std::size_t point) {
            return masks_cells::hidden_weight(drawn[curve], query_of(curve, point));
        });
    const std::vector<double>& own = lost_of_own_->lost();
    if (const auto odd = std::ranges::count_if(own, [](double lost) { return std::isnan(lost); });
        odd > 0 && lost_of_own_->done())
        ui::caption((with_commas(odd) + (odd == 1 ? " query has weights" : " queries have weights") +
                     " that are not numbers, so the curve has gaps.")
                        .c_str());
    if (reply.held)
        parts::choose_tokens(drawing, std::clamp<Index>(std::lround(*reply.held), 0, looked_->queries - 1),
                             selection_of(drawing).key);
    if (reply.over) drawing.point(query_of(reply.over->curve, reply.over->point), std::nullopt);
}

void MasksLens::draw_model(const Drawing& drawing, Subject& subject) {
    const Attention& attention = *subject.attention();
    const bool next = attention.trace()->model()->network().causal;
    const std::string what = next ? "Next token" : "Prediction " + prediction_in_words(attention);
    if (const Status run = masked_run_.follow(*subject.attention(), looked_->mask); !run)
        return ui::caption((capitalised(run.error().message) + ".").c_str());
    if (!masked_run_.done()) return ui::caption("The model runs under this mask.");
    if (masked_run_.tokens().empty())
        return ui::caption("The logits are not finite, so there are no probabilities.");
    static constexpr std::array kinds{"", " of the encoder", " of the decoder’s own attention",
                                      " of cross-attention"};
    ui::caption(("In every layer and head" +
                 std::string(kinds[static_cast<std::size_t>(kind_of(attention))]) +
                 " this mask takes the place of the model's own. It moves " + percent(masked_run_.moved()) +
                 " of the probability " + at_temperature + ".")
                    .c_str());
    ui::landmark_item("masks/moved");
    const std::vector<std::string> names = subject.token_texts(masked_run_.tokens());
    const auto list = [&](const char* key, const char* how, const std::vector<double>& shares) {
        return [&, key, how](float wide) {
            present::Bars list{
                .key = key,
                .title = what + ", " + how,
                .notation = at_temperature,
                .value = "probability",
                .most = 0,
                .cell = [this](Index i) {
                    return masks_cells::probability(masked_run_.tokens()[static_cast<std::size_t>(i)]);
                }};
            for (std::size_t i = 0; i < masked_run_.tokens().size(); ++i) {
                const double share = shares[static_cast<std::size_t>(masked_run_.tokens()[i])];
                list.most = std::max(list.most, static_cast<float>(share));
                list.bars.push_back(
                    {i < names.size() ? names[i] : "", static_cast<float>(share), fixed(share, 4)});
            }
            present::bars(drawing, list, wide);
        };
    };
    ui::columns("masks/model", (ui::two_columns - present::card_gap) / 2, present::card_gap,
                list("masks/before", "as it is", masked_run_.chances_before()),
                list("masks/after", "under this mask", masked_run_.chances_after()));
}

}  // namespace attn::app
