#include "lenses/tiles/tiles.hpp"

#include <algorithm>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app::tiles {

namespace {

constexpr double walk_ms = 1;  // before the first draw; the rest comes in slices

constexpr LinkRow link_rows[] = {
    {"tiles.size", "queries and keys of a tile, each from 1 to 128, as 2,2",
     [](app::State& s, const std::string& value) {
         const auto sides = read_integers(value);
         return sides && sides->size() == 2 && take(s, SetTileSize{{(*sides)[0], (*sides)[1]}});
     },
     [](const app::State& s, const app::State&) -> std::optional<std::string> {
         const auto& size = s.of<State>().size;
         if (!size) return std::nullopt;
         return write_integers(std::vector<Index>{size->queries, size->keys});
     }},
    {"tiles.tile", "the number of a tile, from 0 on",
     [](app::State& s, const std::string& value) {
         const auto tile = read_integer<Index>(value);
         return tile && take(s, SetTile{*tile});
     },
     [](const app::State& s, const app::State&) -> std::optional<std::string> {
         const Index tile = s.of<State>().tile;
         return tile == 0 ? std::nullopt : std::optional(std::to_string(tile));
     }},
};

bool has_cells(const Record* record) { return record && record->queries() > 0 && record->keys() > 0; }

}  // namespace

// ---- Settings ---------------------------------------------------------------------------------------------

LinkRows links() { return {link_rows}; }

Status SetTileSize::apply(app::State& state) const {
    const auto fits = [](Index side) { return side >= 1 && side <= side_limit; };
    if (!fits(size.queries) || !fits(size.keys))
        return Error{"A tile here has 1 to " + std::to_string(side_limit) + " queries and as many keys."};
    state.edit<State>() = {size, 0};
    return ok();
}
std::string SetTileSize::describe(const app::State&) const {
    return "tiles of " + std::to_string(size.queries) + " × " + std::to_string(size.keys);
}

Status SetTile::apply(app::State& state) const {
    if (tile < 0 || tile >= count_limit) return Error{"Choose a tile of the grid; this one does not exist."};
    State& tiles = state.edit<State>();
    tiles.tile = tile;
    if (tile > 0 && !tiles.size) tiles.size = size;
    return ok();
}
std::string SetTile::describe(const app::State&) const { return "tile " + with_commas(tile + 1); }

std::optional<CellRef> packed_cell(Index row, Index col) {
    using namespace cells;
    const Index part = col / 65'536, index = col % 65'536;
    if (part < 6) return index == 0 ? std::optional(running(part, row)) : std::nullopt;
    if (part == 6) return weight(row, index);
    return part < 12 ? std::optional(output(part - 7, row, index)) : std::nullopt;
}

void Lens::follow(const app::State& before, Change how) {
    if (how != Change::command || before.lens != state().lens || before.subject != state().subject)
        model().play.reset();
    ModelLens::follow(before, how);
}

// ---- Numbers ----------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    const Attention& attention = *subject.attention();
    if (has_cells(attention.record(subject.chosen().layer).get())) return std::nullopt;
    if (attention.finished())
        return Missing{
            "Tiles need the vectors behind the weights, Q and K; here there are only finished weights."};
    if (attention.queries() < 1 || attention.keys() < 1)
        return Missing{"There are no queries or no keys here, so there is nothing to cut into tiles."};
    return Missing{.sentence = "Tiles need the scores of this head, which are still being computed.",
                   .comes = true};
}

void Model::update(Visit& visit, Subject& subject) {
    const State& tiles = visit.state().of<State>();
    const Selection chosen = subject.chosen();
    query = visit.state().selection.query;
    Shown now;
    now.record = subject.attention()->record(chosen.layer);
    now.head = chosen.head;
    asked = tiles.size.value_or(usual_tile_size(*now.record, side_limit));
    now.grid = tile_grid(now.record->queries(), now.record->keys(), asked, count_limit);
    now.tile = std::min(tiles.tile, now.grid.count() - 1);
    now.queries = now.rows = now.grid.queries_of(now.grid.row(now.tile));
    now.keys = now.grid.keys_of(now.col());
    if (chosen.query && now.queries.holds(*chosen.query))
        now.rows.begin += (*chosen.query - now.queries.begin) / rows_shown * rows_shown;
    now.rows.end = std::min(now.rows.begin + rows_shown, now.queries.end);
    shown = std::move(now);
}

TileCover& Model::cover() {
    return covers.of(shown, [&] {
        TileCover cover(shown.record, shown.head, shown.grid);
        cover.step();
        return cover;
    });
}

OnlineWalk& Model::walk() {
    return walks.of(rows(), [&] {
        OnlineWalk walk(shown.record, shown.head, shown.rows, shown.grid.size.keys);
        const Deadline deadline(walk_ms);
        while (walk.step() && !deadline.passed()) continue;
        return walk;
    });
}

// ---- Texts ------------------------------------------------------------------------------------------------

std::string Model::headline(Subject& subject) {
    const std::string place =
        "Tile " + with_commas(shown.tile + 1) + " of " + with_commas(shown.grid.count()) + ": ";
    if (cover().skipped(shown.tile))
        return place + "the mask hides all of it, so nothing is read and nothing is computed.";
    const OnlineWalk& walked = walk();
    if (walked.row(shown.rows.begin).tiles() <= shown.col()) return place + "computing its numbers.";
    const Index told = query && shown.rows.holds(*query) ? *query : walked.most_rescaled(shown.col());
    const std::string name = curly_quoted(label_at(subject.attention()->query_names(), told));
    const RunningRow<float>& before = walked.row(told).before(shown.col());
    const RowStep<float>& step = walked.row(told).step(shown.col());
    const auto number = [](float value) { return fixed(static_cast<double>(value), 2); };
    if (std::isnan(step.after.sum))
        return place + "a score of " + name + " is NaN, and so its sum and its output are.";
    if (step.after.sum == 0)
        return place + "the mask has let " + name + " see nothing so far, so its sum is 0.";
    const std::string largest = place + "the largest score of " + name;
    if (before.sum == 0) return largest + " so far is " + number(step.after.max) + ".";
    if (step.after.max == before.max)
        return largest + " stays " + number(before.max) + ", so nothing is rescaled.";
    return largest + " grows from " + number(before.max) + " to " + number(step.after.max) +
           ".\nAll that was summed up so far shrinks by × " + number(step.factor) + ".";
}

Guide Model::guide(Subject&) {
    return {"Attention without the whole row",
            "A softmax needs the largest score and the sum of a row. Fused kernels never have the row: they "
            "keep the largest score so far, m, the sum so far, l, and the output so far, O. When a tile "
            "brings a larger score, they multiply l and O by exp(m before − m), as if it had been there from "
            "the start (Milakov & Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).\n\n"
            "So the scores and weights of a tile never leave fast memory. The kernels of this page walk in "
            "the same order; they put off rescaling until the maximum has grown by more than 8, which saves "
            "time and changes only the last bits."};
}

}  // namespace attn::app::tiles
