#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/tiles/view.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float map_width = 292;
constexpr double play_ms = 450;
constexpr Index play_steps = 200;  // at most, however many tiles there are

using Units = std::array<const char*, 4>;
constexpr Units bytes{" B", " KB", " MB", " GB"}, products{"", " thousand", " million", " billion"};

// Each unit is a thousand times the one before.
std::string amount(double count, const Units& units) {
    std::size_t unit = 0;
    for (; count >= 999.5 && unit + 1 < units.size(); ++unit) count /= 1000;
    return fixed(count, unit == 0 || count >= 99.95 ? 0 : 1) + units[unit];
}

std::string times(TileSize size) { return std::to_string(size.queries) + " × " + std::to_string(size.keys); }

}  // namespace

void TilesLens::draw_controls(const Drawing& drawing, const Shown& now) {
    const TileSize asked = state().of<TilesState>().size.value_or(usual_tile_size(*now.record));
    const TileSize own = now.record->kernels().attention_tile;
    const std::array<TileSize, 3> sizes{TileSize{tile_rows_shown, 1}, TileSize{2, 2}, own};
    const std::string own_name = "the kernel’s own, " + times(own);
    const std::array<const char*, 3> names{"one key at a time", "2 × 2", own_name.c_str()};
    ImGui::BeginGroup();
    ui::label("tiles");
    const auto taken = static_cast<int>(std::ranges::find(sizes, asked) - sizes.begin());
    if (const auto chosen = ui::choice("tiles/preset", names, taken))
        drawing.visit.perform(SetTileSize{sizes[static_cast<std::size_t>(*chosen)]});
    ImGui::EndGroup();
    TileSize size = asked;
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto side = ui::stepper("tiles/queries", "queries", size.queries, 1, tile_side_limit))
        size.queries = *side;
    ImGui::EndGroup();
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto side = ui::stepper("tiles/keys", "keys", size.keys, 1, tile_side_limit)) size.keys = *side;
    ImGui::EndGroup();
    if (size != asked) drawing.visit.perform(SetTileSize{size}, ui::gesture());
}

// Goes through the tiles by hand, which stops the automatic walk.
void TilesLens::draw_steps(const Shown& now) {
    const TileCover& covered = cover(now);
    const Index back = covered.neighbour(now.tile, -1), next = covered.neighbour(now.tile, 1);
    const auto go = [&](Index tile) {
        play_.reset();
        visit().perform(SetTile{tile, usual_tile_size(*now.record)}, ui::gesture());
    };
    if (ui::button("tiles/back", "Back", back != now.tile)) go(back);
    ImGui::SameLine(0, 6);
    if (ui::button("tiles/forward", "Forward", next != now.tile)) go(next);
    ImGui::SameLine(0, 6);
    if (ui::button("tiles/play", play_ ? "Pause" : "Play", {"Play", "Pause"},
                   now.grid.count() > 1 ? ok() : Status(Error{"There is only one tile."}))) {
        if (play_) {
            play_.reset();
        } else {
            const bool at_end = next == now.tile;
            play_ = Play{ui::gesture(), now_ms() + (at_end ? play_ms : 0)};
            if (at_end) visit().perform(SetTile{0}, play_->gesture);
        }
    }
    if (now.grid.count() == 1) return;
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto place = ui::slider("tiles/tile", "tile", static_cast<double>(now.tile + 1), 1,
                                      static_cast<double>(now.grid.count()), "%.0f"))
        go(static_cast<Index>(std::lround(*place)) - 1);
    ImGui::EndGroup();
}

void TilesLens::play(const Drawing& drawing, const Shown& now) {
    if (!play_) return;
    const double time = now_ms();
    if (time >= play_->next_ms) {
        const TileCover& covered = cover(now);
        const Index stride = std::max(now.grid.count() / play_steps, Index{1});
        const Index next = covered.neighbour(std::min(now.tile + stride, now.grid.count()) - 1, 1);
        const bool ends = next <= now.tile || covered.neighbour(next, 1) == next;
        if (next > now.tile)
            drawing.visit.perform(SetTile{next, usual_tile_size(*now.record)}, play_->gesture);
        if (ends) return play_.reset();
        play_->next_ms = time + play_ms;
    }
    drawing.visit.continue_at(play_->next_ms);
}

// Draws the traffic between slow and fast memory.
void TilesLens::draw_cost(const View& view, float width) {
    const TileCover& covered = view.cover;
    if (!covered.done()) return ui::caption("Looking which tiles the mask hides …");
    const Record& record = *view.shown.record;
    const TileCost so_far = covered.cost(view.shown.tile + 1), all = covered.cost(covered.grid().count()),
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
                            return amount(cost.read, bytes) + " read, " + amount(cost.written, bytes) +
                                   " written, " + amount(cost.products, products) + " products";
                        }};
    for (const char* name : {"so far", "tiles", "naive"}) {
        const TileCost& cost = costs[moved.bars.size()];
        moved.bars.push_back({name, static_cast<float>(cost.moved()), amount(cost.moved(), bytes)});
    }
    moved.bars.front().lit = true;
    present::bars(view.drawing, moved, width);
    const double ratio = all.moved() > 0 ? naive.moved() / all.moved() : 1;
    std::string text = "In f32, tiles read " + amount(all.read, bytes) + " and write " +
                       amount(all.written, bytes) + "; the naive order reads " + amount(naive.read, bytes) +
                       " and writes " + amount(naive.written, bytes) + ", " +
                       fixed(ratio, ratio < 10 ? 2 : 0) + " times as much. ";
    text += covered.skipped_tiles() == 0
                ? "No tile is skipped."
                : with_commas(covered.skipped_tiles()) + " of " + with_commas(covered.grid().count()) +
                      " tiles are skipped, which saves " + percent(1 - all.products / naive.products) +
                      " of the products.";
    text += " One tile takes " + amount(fast_memory(record, covered.grid().size), bytes) + " of fast memory.";
    ui::caption(text.c_str());
    ui::landmark_item("tiles/saved");
}

void TilesLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Press Forward: each tile of keys changes the running maximum, sum and output of its queries. After "
        "the "
        "last tile of a row, they are what a softmax over the whole row gives.");
    if (const auto before = shown(subject)) {
        play(drawing, *before);
        if (ui::settings()) draw_controls(drawing, *before);
    }
    if (const auto before = shown(subject)) draw_steps(*before);
    const auto now = shown(subject);
    if (!now) return;
    TileCover& covered = cover(*now);
    OnlineWalk& walked = walk(*now);
    while (!walked.done() && !drawing.deadline.passed()) walked.step();
    if (!walked.done())
        visit().continue_with([this, of = walked_] { return walk_ && of == walked_ && walk_->step(); });
    if (!covered.done())
        visit().continue_with(
            [this, of = covered.grid()] { return cover_ && cover_->grid() == of && cover_->step(); });
    if (covered.grid().size != state().of<TilesState>().size.value_or(usual_tile_size(*now->record)))
        ui::caption(("So many tokens would make more than " + with_commas(tiles_limit) + " tiles; they are " +
                     times(covered.grid().size) + " here.")
                        .c_str());
    ImGui::Dummy({0, 4});
    const View view{drawing, subject, *now, covered};
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_columns;
    if (!beside) {
        draw_map(view, width);
        draw_numbers(view, width);
        return draw_cost(view, width);
    }
    ImGui::BeginGroup();
    ui::column("map", map_width, [&](float w) {
        draw_map(view, w);
        draw_cost(view, w);
    });
    ImGui::EndGroup();
    ImGui::SameLine(0, present::card_gap);
    ui::column("numbers", width - map_width - present::card_gap, [&](float w) { draw_numbers(view, w); });
}

}  // namespace attn::app
