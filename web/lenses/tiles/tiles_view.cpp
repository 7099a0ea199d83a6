#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/tiles/tiles.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::tiles {

namespace {

constexpr float map_width = 292, least_beside = 150;
constexpr Index most_beside = 8;  // keys per tile up to which its matrices stand side by side
constexpr double play_ms = 450;
constexpr Index play_steps = 200;  // at most, however many tiles there are

using Units = std::array<const char*, 4>;
constexpr Units bytes{" B", " KB", " MB", " GB"}, products{"", " thousand", " million", " billion"};

std::string times(TileSize size) { return std::to_string(size.queries) + " × " + std::to_string(size.keys); }

void draw_controls(const Model& model, const Drawing& drawing) {
    const TileSize asked = model.asked, own = model.shown.record->kernels().attention_tile;
    const std::array<TileSize, 3> sizes{TileSize{rows_shown, 1}, TileSize{2, 2}, own};
    const std::string own_name = "the kernel’s own, " + times(own);
    const std::array<const char*, 3> names{"one key at a time", "2 × 2", own_name.c_str()};
    ui::control(ui::need::named_choices + ui::need::button, [&] {
        ui::label("tiles");
        const auto taken = static_cast<int>(std::ranges::find(sizes, asked) - sizes.begin());
        if (const auto chosen = ui::choice("tiles/preset", names, taken))
            drawing.visit.perform(SetTileSize{sizes[static_cast<std::size_t>(*chosen)]});
    });
    TileSize size = asked;
    for (const auto& [key, label, side] : {std::tuple{"tiles/queries", "queries", &size.queries},
                                           std::tuple{"tiles/keys", "keys", &size.keys}}) {
        ui::control(ui::need::stepper, [&] {
            if (const auto next = ui::stepper(key, label, *side, 1, side_limit)) *side = *next;
        });
    }
    if (size != asked) drawing.visit.perform(SetTileSize{size}, ui::gesture());
}

// Goes through the tiles by hand, which stops the automatic walk.
void draw_steps(Model& model, const Drawing& drawing) {
    const Index tile = model.shown.tile, count = model.shown.grid.count();
    const TileCover& cover = model.cover();
    const Index back = cover.neighbour(tile, -1), next = cover.neighbour(tile, 1);
    const auto go = [&](Index to) {
        model.play.reset();
        go_to(model, drawing, to, ui::gesture());
    };
    if (ui::button("tiles/back", "Back", back != tile)) go(back);
    ImGui::SameLine(0, 6);
    if (ui::button("tiles/forward", "Forward", next != tile)) go(next);
    ImGui::SameLine(0, 6);
    if (ui::button("tiles/play", model.play ? "Pause" : "Play", {"Play", "Pause"},
                   count > 1 ? ok() : Status(Error{"There is only one tile."}))) {
        if (model.play) {
            model.play.reset();
        } else {
            const bool at_end = next == tile;
            model.play = {ui::gesture(), now_ms() + (at_end ? play_ms : 0)};
            if (at_end) go_to(model, drawing, 0, model.play->gesture);
        }
    }
}

void draw_tile(Model& model, const Drawing& drawing) {
    const Index tile = model.shown.tile, count = model.shown.grid.count();
    if (count == 1) return;
    ui::control(ui::need::slider, [&] {
        if (const auto place = ui::slider("tiles/tile", "tile", static_cast<double>(tile + 1), 1,
                                          static_cast<double>(count), "%.0f")) {
            model.play.reset();
            go_to(model, drawing, static_cast<Index>(std::lround(*place)) - 1, ui::gesture());
        }
    });
}

void play(Model& model, const Drawing& drawing) {
    if (!model.play) return;
    const double time = now_ms();
    if (time >= model.play->next_ms) {
        const TileCover& cover = model.cover();
        const Index tile = model.shown.tile, count = model.shown.grid.count(),
                    stride = std::max(count / play_steps, Index{1}),
                    next = cover.neighbour(std::min(tile + stride, count) - 1, 1);
        const bool ends = next <= tile || cover.neighbour(next, 1) == next;
        if (next > tile) go_to(model, drawing, next, model.play->gesture);
        if (ends) return model.play.reset();
        model.play->next_ms = time + play_ms;
    }
    drawing.visit.continue_at(model.play->next_ms);
}

// Draws the traffic between slow and fast memory.
void draw_cost(Model& model, const Drawing& drawing, float width) {
    const TileCover& covered = model.cover();
    if (!covered.done()) return ui::caption("Looking which tiles the mask hides …");
    const Record& record = *model.shown.record;
    const TileCost so_far = covered.cost(model.shown.tile + 1), all = covered.cost(covered.grid().count()),
                   naive = naive_cost(record);
    const std::array costs{so_far, all, naive};
    const double most = std::max(all.moved(), naive.moved());
    present::Bars moved{.key = "tiles/cost",
                        .title = "Bytes moved",
                        .notation = "between slow and fast memory",
                        .value = "bytes",
                        .most = static_cast<float>(most),
                        .scale = ui::sequential_scale(static_cast<float>(most)),
                        .tip = [&](Index bar) {
                            const TileCost& cost = costs[static_cast<std::size_t>(bar)];
                            return in_thousands(cost.read, bytes) + " read, " +
                                   in_thousands(cost.written, bytes) + " written, " +
                                   in_thousands(cost.products, products) + " products";
                        }};
    for (const char* name : {"so far", "tiles", "naive"}) {
        const TileCost& cost = costs[moved.bars.size()];
        moved.bars.push_back({name, static_cast<float>(cost.moved()), in_thousands(cost.moved(), bytes)});
    }
    moved.bars.front().lit = true;
    present::bars(drawing, moved, width);
    const double ratio = all.moved() > 0 ? naive.moved() / all.moved() : 1;
    std::string text = "In f32, tiles read " + in_thousands(all.read, bytes) + " and write " +
                       in_thousands(all.written, bytes) + "; the naive order reads " +
                       in_thousands(naive.read, bytes) + " and writes " + in_thousands(naive.written, bytes) +
                       ", " + fixed(ratio, ratio < 10 ? 2 : 0) + " times as much. ";
    text += covered.skipped_tiles() == 0
                ? "No tile is skipped."
                : with_commas(covered.skipped_tiles()) + " of " + with_commas(covered.grid().count()) +
                      " tiles are skipped, which saves " + percent(1 - all.products / naive.products) +
                      " of the products.";
    text += " One tile takes " + in_thousands(fast_memory(record, covered.grid().size), bytes) +
            " of fast memory.";
    ui::caption(text.c_str());
    ui::landmark_item("tiles/saved");
}

// Chooses which of the tile's queries are shown, if there are too many.
void draw_rows(const Shown& now, const Drawing& drawing) {
    if (now.queries.size() <= rows_shown) return;
    const Index before = now.rows.begin - rows_shown, after = now.rows.end;
    const std::string text = std::to_string(now.rows.begin) + "–" + std::to_string(after - 1);
    ImGui::BeginGroup();
    if (const auto first =
            ui::stepper("tiles/rows", "queries shown", text,
                        {before, before < now.queries.begin ? "These are the tile’s first queries." : ""},
                        {after, after >= now.queries.end ? "These are the tile’s last queries." : ""}))
        parts::choose_tokens(drawing, *first, std::nullopt);
    ImGui::EndGroup();
}

// The query of one of the shown numbers.
Index query_of(const CellRef& cell) {
    if (const RunCell* score = cell.run()) return score->row;
    return cell.own()->at[cell.is(cells::weight) ? 0 : 1];
}

// Draws the numbers of the last finished tile, for some of its queries.
void draw_numbers(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Shown& now = model.shown;
    draw_rows(now, drawing);
    if (!model.walk().done()) return ui::caption("Computing these queries …");
    const auto lit = drawing.pointed.query ? drawing.pointed.query : selection_of(drawing).query;
    const auto draw = [&](Sheet& sheet) {
        return [&](float wide) {
            if (lit && now.rows.holds(*lit)) sheet.lit_row = *lit - now.rows.begin;
            present::sheet(drawing, sheet, wide, {}, {}, [&](Index row) {
                parts::choose_tokens(drawing, now.rows.begin + row, std::nullopt);
            });
        };
    };
    std::vector<Sheet> of_tile = tile_sheets(model, subject), outputs = output_sheets(model, subject);
    ui::columns("tiles/tile", now.keys.size() <= most_beside ? least_beside : width, present::card_gap,
                draw(of_tile[0]), draw(of_tile[1]));
    draw(of_tile[2])(width);
    for (Sheet& sheet : outputs) draw(sheet)(width);
    if (const auto& cell = drawing.now.cell) drawing.point(query_of(*cell), std::nullopt);
    if (outputs.empty()) return ui::caption("There are no values here, so there is no output.");
    if (!now.ends_row()) return;
    const OnlineWalk::Difference off = model.walk().difference(now.col());
    const std::string text =
        std::string(off.finite ? "All keys seen. These outputs, "
                               : "All keys seen. Those outputs that are finite, ") +
        "by tiles and in the naive order, differ by " +
        (off.largest == 0 ? "nothing." : fixed(off.largest, 2) + " at most, which is rounding.");
    ui::caption(text.c_str());
    ui::landmark_item("tiles/equal");
}

}  // namespace

void go_to(const Model& model, const Drawing& drawing, Index tile, std::uint64_t gesture) {
    drawing.visit.perform(SetTile{tile, model.asked}, gesture);
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Press Forward: each tile of keys changes the running maximum, sum and output of its queries. After "
        "the last tile of a row, they are what a softmax over the whole row gives.");
    play(model, drawing);
    {
        const ui::Row row("tiles/settings");
        draw_steps(model, drawing);
        model.update(drawing.visit, subject);
        if (ui::settings()) draw_controls(model, drawing);
        model.update(drawing.visit, subject);
        draw_tile(model, drawing);
    }
    model.update(drawing.visit, subject);
    TileCover& cover = model.cover();
    OnlineWalk& walk = model.walk();
    while (!walk.done() && !drawing.deadline.passed()) walk.step();
    if (!walk.done())
        drawing.visit.continue_with([&model, of = model.rows()] {
            return model.rows() == of && !model.walk().done() && model.walk().step();
        });
    if (!cover.done())
        drawing.visit.continue_with(
            [&model, of = model.shown.cut()] { return model.shown == of && model.cover().step(); });
    if (model.shown.grid.size != model.asked)
        ui::caption(("So many tokens would make more than " + with_commas(count_limit) + " tiles; they are " +
                     times(model.shown.grid.size) + " here.")
                        .c_str());
    const float width = ImGui::GetContentRegionAvail().x;
    if (width < ui::two_columns) {
        draw_map(model, drawing, width);
        draw_numbers(model, drawing, subject, width);
        return draw_cost(model, drawing, width);
    }
    ImGui::BeginGroup();
    ui::column("map", map_width, [&](float w) {
        draw_map(model, drawing, w);
        draw_cost(model, drawing, w);
    });
    ImGui::EndGroup();
    ImGui::SameLine(0, present::card_gap);
    ui::column("numbers", width - map_width - present::card_gap,
               [&](float w) { draw_numbers(model, drawing, subject, w); });
}

}  // namespace attn::app::tiles
