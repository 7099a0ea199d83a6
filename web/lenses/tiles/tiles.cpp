#include "lenses/tiles/tiles.hpp"

#include <algorithm>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"

namespace attn::app {

namespace {

constexpr double walk_ms = 1;  // before the first draw; the rest comes in slices

constexpr LinkRow tile_rows[] = {
    {"tiles.size", "queries and keys of a tile, each from 1 to 128, as 2,2",
     [](State& s, const std::string& value) {
         const auto sides = read_integers(value);
         return sides && sides->size() == 2 && take(s, SetTileSize{{(*sides)[0], (*sides)[1]}});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const auto& size = s.of<TilesState>().size;
         if (!size) return std::nullopt;
         return write_integers(std::vector<Index>{size->queries, size->keys});
     }},
    {"tiles.tile", "the number of a tile, from 0 on",
     [](State& s, const std::string& value) {
         const auto tile = read_integer<Index>(value);
         return tile && take(s, SetTile{*tile});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Index tile = s.of<TilesState>().tile;
         return tile == 0 ? std::nullopt : std::optional(std::to_string(tile));
     }},
};

}  // namespace

LinkRows tiles_links() { return {tile_rows}; }

Status SetTileSize::apply(State& state) const {
    const auto fits = [](Index side) { return side >= 1 && side <= tile_side_limit; };
    if (!fits(size.queries) || !fits(size.keys))
        return Error{"A tile here has 1 to " + std::to_string(tile_side_limit) +
                     " queries and as many keys."};
    state.edit<TilesState>() = {size, 0};
    return ok();
}
std::string SetTileSize::describe(const State&) const {
    return "tiles of " + std::to_string(size.queries) + " × " + std::to_string(size.keys);
}

Status SetTile::apply(State& state) const {
    if (tile < 0 || tile >= tiles_limit) return Error{"Choose a tile of the grid; this one does not exist."};
    TilesState& tiles = state.edit<TilesState>();
    tiles.tile = tile;
    if (tile > 0 && !tiles.size) tiles.size = size;
    return ok();
}
std::string SetTile::describe(const State&) const {
    return "tile " + with_commas(static_cast<std::ptrdiff_t>(tile + 1));
}

TileSize usual_tile_size(const Record& record) {
    TileSize size{2, 2};
    const auto moves_more = [&] {
        const Index rows = (record.queries() + size.queries - 1) / size.queries;
        return static_cast<double>(rows - 1) * static_cast<double>(record.d_k() + record.d_v()) >=
               4 * static_cast<double>(record.queries());
    };
    while (size.queries < tile_side_limit && moves_more()) size.queries *= 2;
    return size;
}

Stage score_stage(const AttentionSpec& spec) {
    return !spec.mask.is_everything() || !spec.bias.empty() ? Stage::masked
           : spec.softcap > 0                               ? Stage::capped
                                                            : Stage::scaled;
}

std::optional<Missing> TilesLens::missing(Subject& subject) const {
    const Attention* attention = subject.attention();
    if (shown(subject)) return std::nullopt;
    if (attention->finished())
        return Missing{
            "Tiles need the vectors behind the weights, Q and K; here there are only finished weights."};
    if (attention->queries() < 1 || attention->keys() < 1)
        return Missing{"There are no queries or no keys here, so there is nothing to cut into tiles."};
    return Missing{.sentence = "Tiles need the scores of this head, which are still being computed.",
                   .comes = true};
}

std::optional<TilesLens::Shown> TilesLens::shown(Subject& subject) const {
    const Attention* attention = subject.attention();
    const Selection s = subject.chosen();
    if (!attention) return std::nullopt;
    Shown now{.record = attention->record(s.layer), .head = s.head};
    if (!now.record || now.record->queries() < 1 || now.record->keys() < 1) return std::nullopt;
    const TilesState& tiles = state().of<TilesState>();
    now.grid = tile_grid(now.record->queries(), now.record->keys(),
                         tiles.size.value_or(usual_tile_size(*now.record)), tiles_limit);
    now.tile = std::min(tiles.tile, now.grid.count() - 1);
    now.queries = now.rows = now.grid.queries_of(now.grid.row(now.tile));
    now.keys = now.grid.keys_of(now.col());
    if (s.query && now.queries.holds(*s.query))
        now.rows.begin += (*s.query - now.queries.begin) / tile_rows_shown * tile_rows_shown;
    now.rows.end = std::min(now.rows.begin + tile_rows_shown, now.queries.end);
    return now;
}

TileCover& TilesLens::cover(const Shown& shown) {
    if (!cover_ || covered_ != shown.record || covered_head_ != shown.head || cover_->grid() != shown.grid) {
        cover_.emplace(shown.record, shown.head, shown.grid);
        covered_ = shown.record;
        covered_head_ = shown.head;
        cover_->step();
    }
    return *cover_;
}

OnlineWalk& TilesLens::walk(const Shown& shown) {
    Shown same = shown;
    same.tile = walked_.tile;
    same.keys = walked_.keys;
    if (!walk_ || same != walked_) {
        walk_.emplace(shown.record, shown.head, shown.rows, shown.grid.size.keys);
        walked_ = shown;
        naive_.clear();
        const Deadline deadline(walk_ms);
        while (walk_->step() && !deadline.passed()) continue;
    }
    return *walk_;
}

const NaiveRow<float>& TilesLens::naive(const Shown& shown, Index query) {
    if (naive_.empty())
        for (Index each = shown.rows.begin; each < shown.rows.end; ++each)
            naive_.emplace_back(walk_->row(each).scores(), walk_->values());
    return naive_[static_cast<std::size_t>(query - shown.rows.begin)];
}

void TilesLens::follow(const State& before, Change how) {
    // The walk stops when the user goes elsewhere, so it is not running when they come back.
    if (how != Change::command || before.lens != state().lens || before.subject != state().subject)
        play_.reset();
    State same = before;
    same.edit<TilesState>() = state().of<TilesState>();
    same.selection = state().selection;
    same.pin = state().pin;
    if (same != state()) forget();
}

// Releases the head, which may be large and no longer open.
void TilesLens::forget() {
    cover_.reset();
    covered_.reset();
    walk_.reset();
    walked_ = {};
    naive_.clear();
    two_rows_.reset();
}

// The chosen query, or the one that the tile changes most.
Index TilesLens::told_query(const Shown& now, const OnlineWalk& walked) const {
    const auto chosen = state().selection.query;
    if (chosen && now.rows.holds(*chosen)) return *chosen;
    Index told = now.rows.begin;
    float least = 1;
    for (Index query = now.rows.begin; query < now.rows.end; ++query) {
        const float factor = walked.row(query).step(now.col()).factor;
        if (walked.row(query).before(now.col()).sum == 0 || !(factor < least)) continue;
        told = query;
        least = factor;
    }
    return told;
}

std::string TilesLens::spoken(Subject& subject) {
    const Shown now = *shown(subject);
    const std::string place =
        "Tile " + with_commas(now.tile + 1) + " of " + with_commas(now.grid.count()) + ": ";
    if (cover(now).skipped(now.tile))
        return place + "the mask hides all of it, so nothing is read and nothing is computed.";
    const OnlineWalk& walked = walk(now);
    if (walked.row(now.rows.begin).tiles() <= now.col()) return place + "computing its numbers.";
    const Index query = told_query(now, walked);
    const std::string name =
        curly_quoted(subject.attention()->query_names()[static_cast<std::size_t>(query)]);
    const RunningRow<float>& before = walked.row(query).before(now.col());
    const RowStep<float>& step = walked.row(query).step(now.col());
    const auto number = [](float value) { return fixed(static_cast<double>(value), 2); };
    if (std::isnan(step.after.sum))
        return place + "a score of " + name + " is NaN, and so its sum and its output are.";
    if (step.after.sum == 0)
        return place + "the mask has let " + name + " see nothing so far, so its sum is 0.";
    if (before.sum == 0)
        return place + "the largest score of " + name + " so far is " + number(step.after.max) + ".";
    if (step.after.max == before.max)
        return place + "the largest score of " + name + " stays " + number(before.max) +
               ", so nothing is rescaled.";
    return place + "the largest score of " + name + " grows from " + number(before.max) + " to " +
           number(step.after.max) + ".\nAll that was summed up so far shrinks by × " + number(step.factor) +
           ".";
}

Guide TilesLens::guide(Subject&) const {
    return {"Attention without the whole row",
            "A softmax needs the largest score and the sum of a row. Fused kernels never have the row: they "
            "keep the "
            "largest score so far, m, the sum so far, l, and the output so far, O. When a tile brings a "
            "larger score, "
            "they multiply l and O by exp(m before − m), as if it had been there from the start "
            "(Milakov & Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022, arXiv 2205.14135).\n\n"
            "So the scores and weights of a tile never leave fast memory. The kernels of this page walk in "
            "the same "
            "order; they put off rescaling until the maximum has grown by more than 8, which saves time and "
            "changes "
            "only the last bits."};
}

}  // namespace attn::app
