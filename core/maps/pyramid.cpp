#include "maps/pyramid.hpp"

#include <algorithm>
#include <tuple>

namespace attn {

namespace {

std::size_t size(Index n) { return static_cast<std::size_t>(n); }

Index tiles_of(Index n, Index level) { return (texels(n, level) + tile_side - 1) / tile_side; }

Coverage coverage(const Map& map, TileAt at) {
    return map.coverage(tile_cells(map.queries(), at.level, at.row),
                        tile_cells(map.keys(), at.level, at.col));
}

// Adds up the bytes of the tiles from the finest level up to the coarsest.
std::uint64_t bytes_from(const Map& map, Index finest, Index coarsest) {
    std::uint64_t bytes = 0;
    for (Index level = finest; level <= coarsest; ++level)
        for (Index row = 0; row < tiles_of(map.queries(), level); ++row)
            for (Index col = 0; col < tiles_of(map.keys(), level); ++col)
                if (coverage(map, {level, row, col}) != Coverage::none)
                    bytes += 2 * sizeof(float) * std::uint64_t{tile_side * tile_side};
    return bytes;
}

void make_room(Tile& tile) {
    if (!tile.strongest.empty()) return;
    tile.strongest.assign(size(tile.rows * tile.cols), masked_cell);
    tile.mean = tile.strongest;
}

// The number of cells between two ranges, 0 if they meet.
Index gap(Range a, Range b) { return std::max({Index{0}, a.begin - b.end, b.begin - a.end}); }

}  // namespace

Index level_of(Index queries, Index keys, Index side) {
    Index level = 0;
    if (queries == 0 || keys == 0) return level;
    while (texels(std::max(queries, keys), level) > side) ++level;
    return level;
}

BlockJob tile_job(MapPointer map, TileAt at, const Kernels& kernels, Index chunk_rows) {
    const MapWindow window{tile_cells(map->queries(), at.level, at.row),
                           tile_cells(map->keys(), at.level, at.col)};
    const Index block = Index{1} << at.level;
    return BlockJob(std::move(map), window, block, block, kernels, chunk_rows);
}

MapWindow sample_window(Index queries, Index keys, Index side) {
    const Index block = Index{1} << level_of(queries, keys, side);
    return {{queries == 0 ? 0 : (queries - 1) % block, queries}, {0, keys}, block};
}

BlockJob sample_job(MapPointer map, Index side, const Kernels& kernels) {
    const MapWindow window = sample_window(map->queries(), map->keys(), side);
    return BlockJob(std::move(map), window, 1, window.step, kernels);
}

SampledRows sample_of(const Map& map, Index side, const Blocks& blocks) {
    const MapWindow window = sample_window(map.queries(), map.keys(), side);
    return {.first = window.queries.begin,
            .step = window.step,
            .level = level_of(map.queries(), map.keys(), side),
            .rows = blocks.rows,
            .cols = blocks.cols,
            .strongest = blocks.strongest,
            .mean = blocks.mean()};
}

bool Tile::ready_at(Index row, Index col) const {
    const Index across = (cols + square - 1) / square;
    return ready[size(row / square * across + col / square)];
}

bool Tile::complete() const {
    return std::ranges::all_of(ready, [](std::uint8_t r) { return r != 0; });
}

Pyramid::Pyramid(MapPointer map, std::size_t bytes, const Kernels& kernels)
    : map_(std::move(map)), kernels_(&kernels), queries_{0, map_->queries()}, keys_{0, map_->keys()} {
    const Index n_q = map_->queries(), n_k = map_->keys(), coarsest = level_of(n_q, n_k, tile_side);
    while (finest_ < coarsest && bytes_from(*map_, finest_, coarsest) > bytes) ++finest_;
    for (Index l = finest_; l <= coarsest; ++l) {
        Level& level = levels_.emplace_back(Level{tiles_of(n_q, l), tiles_of(n_k, l), {}});
        for (Index row = 0; row < level.tile_rows; ++row)
            for (Index col = 0; col < level.tile_cols; ++col) {
                Tile& tile = level.tiles.emplace_back();
                tile.rows = std::min(tile_side, texels(n_q, l) - row * tile_side);
                tile.cols = std::min(tile_side, texels(n_k, l) - col * tile_side);
                tile.square = std::max(Index{1}, tile_side >> (l - finest_));
                const auto squares = [&](Index n) { return (n + tile.square - 1) / tile.square; };
                tile.ready.resize(size(squares(tile.rows) * squares(tile.cols)));
            }
    }
    for (Index row = 0; row < levels_.front().tile_rows; ++row)
        for (Index col = 0; col < levels_.front().tile_cols; ++col) {
            const TileAt at{finest_, row, col};
            if (coverage(*map_, at) == Coverage::none)
                for (Index l = finest_; l <= coarsest; ++l) make_ready(at, l);
            else
                pending_.push_back(at);
        }
    tiles_ = pending_.size();
    key_sums_.resize(size(levels_.front().tile_rows), std::vector<double>(size(n_k)));
    query_sums_.resize(size(levels_.front().tile_cols), std::vector<double>(size(n_q)));
    entropies_ = query_sums_;
    if (coarsest > 0) sampling_ = sample_job(map_, tile_side, kernels);
}

void Pyramid::take_over(const Pyramid& before, Index kept) {
    if (before.finest_ != finest_ || before.coarsest() != coarsest() || !before.done() || before.not_numbers_)
        return;
    std::erase_if(pending_, [&](const TileAt& at) {
        if (at.row >= before.tile_rows(at.level) || at.col >= before.tile_cols(at.level)) return false;
        const Range rows = tile_cells(map_->queries(), at.level, at.row);
        const Tile &here = tile(at), &there = before.tile(at);
        if (rows.end > kept || here.rows != there.rows || here.cols != there.cols) return false;
        take_over_tile(before, at);
        return true;
    });
    if (nearly_done()) sampling_.reset();
}

void Pyramid::take_over_tile(const Pyramid& before, TileAt at) {
    const Range rows = tile_cells(map_->queries(), at.level, at.row),
                cols = tile_cells(map_->keys(), at.level, at.col);
    const auto copy = [](const std::vector<double>& from, Range part, std::vector<double>& to) {
        std::copy_n(from.begin() + part.begin, part.size(), to.begin() + part.begin);
    };
    copy(before.query_sums_[size(at.col)], rows, query_sums_[size(at.col)]);
    copy(before.entropies_[size(at.col)], rows, entropies_[size(at.col)]);
    copy(before.key_sums_[size(at.row)], cols, key_sums_[size(at.row)]);
    for (Index l = finest_; l <= coarsest(); ++l) {
        const Index above = l - finest_;
        const Square to = make_ready(at, l);
        const Tile& from = before.tile({l, at.row >> above, at.col >> above});
        if (from.strongest.empty()) continue;
        const Index height = std::min(to.tile.square, to.tile.rows - to.row),
                    width = std::min(to.tile.square, to.tile.cols - to.col);
        make_room(to.tile);
        for (Index r = to.row; r < to.row + height; ++r) {
            const Index here = r * to.tile.cols + to.col, there = r * from.cols + to.col;
            std::copy_n(from.strongest.begin() + there, width, to.tile.strongest.begin() + here);
            std::copy_n(from.mean.begin() + there, width, to.tile.mean.begin() + here);
        }
    }
}

bool Pyramid::nearly_done() const {
    constexpr Index few_cells = Index{1} << 19;
    Index cells = 0;
    for (const TileAt& at : pending_)
        cells += tile_cells(map_->queries(), at.level, at.row).size() *
                 tile_cells(map_->keys(), at.level, at.col).size();
    return cells <= few_cells;
}

void Pyramid::look_at(Range queries, Range keys) {
    queries_ = queries;
    keys_ = keys;
}

bool Pyramid::step() {
    if (sampling_) {
        if (!sampling_->step()) {
            sample_ = sample_of(*map_, tile_side, sampling_->blocks());
            sampling_.reset();
        }
        return !done();
    }
    if (jobs_.empty()) {
        if (pending_.empty()) return false;
        const TileAt at = take_next();
        jobs_.push_back({at, tile_job(map_, at, *kernels_)});
    }
    if (!jobs_.back().job.step()) {
        finish_tile(jobs_.back());
        jobs_.pop_back();
    }
    return !done();
}

// Cells are left out in squares of 64 where they are masked: entropies are added in the same parts.
Index Pyramid::band_rows() const { return std::max(Index{64}, Index{1} << finest_); }

bool Pyramid::take(const ScoredRows& rows) {
    const bool first = rows.queries.begin % rows_of_tile() == 0;
    const auto begun = std::ranges::find_if(
        pending_, [&](const TileAt& at) { return first && at.row == rows.queries.begin / rows_of_tile(); });
    if (begun != pending_.end()) {
        // One at a time, since its memory is new.
        jobs_.push_back({*begun, tile_job(map_, *begun, *kernels_, band_rows())});
        pending_.erase(begun);
        return true;
    }
    for (auto each = jobs_.begin(); each != jobs_.end(); ++each) {
        if (each->job.takes(rows))
            each->job.take(rows);
        else if (!each->job.done())
            continue;
        if (each->job.done()) {
            finish_tile(*each);
            jobs_.erase(each);
        }
        return true;
    }
    return false;
}

TileAt Pyramid::take_next() {
    const auto place = [&](const TileAt& at) {
        const Range rows = tile_cells(map_->queries(), at.level, at.row),
                    cols = tile_cells(map_->keys(), at.level, at.col);
        const Index row_gap = gap(rows, queries_), col_gap = gap(cols, keys_);
        return std::tuple(std::max(row_gap, col_gap), at);
    };
    const auto next = std::ranges::min_element(pending_, {}, place);
    const TileAt at = *next;
    pending_.erase(next);
    return at;
}

void Pyramid::finish_tile(const TileJob& done) {
    const TileAt at = done.at;
    const MapSums& sums = done.job.sums();
    const Range rows = tile_cells(map_->queries(), at.level, at.row),
                cols = tile_cells(map_->keys(), at.level, at.col);
    std::ranges::copy(sums.queries, query_sums_[size(at.col)].begin() + rows.begin);
    std::ranges::copy(sums.entropies, entropies_[size(at.col)].begin() + rows.begin);
    std::ranges::copy(sums.keys, key_sums_[size(at.row)].begin() + cols.begin);
    not_numbers_ += sums.not_numbers;

    Blocks blocks = done.job.blocks();
    for (Index l = finest_; l <= coarsest(); ++l) {
        if (l > finest_) blocks = blocks.halved(map_->is_signed());
        put(blocks, make_ready(at, l));
    }
}

// Marks a tile of the finest level as ready in its tile on level l, and returns its square there.
Pyramid::Square Pyramid::make_ready(TileAt at, Index l) {
    const Index above = l - finest_, squares = Index{1} << above;
    Level& level = levels_[size(above)];
    Tile& tile = level.tiles[size((at.row >> above) * level.tile_cols + (at.col >> above))];
    const Index row = at.row % squares, col = at.col % squares,
                across = (tile.cols + tile.square - 1) / tile.square;
    tile.ready[size(row * across + col)] = 1;
    ++tile.version;
    return {tile, row * tile.square, col * tile.square};
}

void Pyramid::put(const Blocks& blocks, Square to) {
    Tile& tile = to.tile;
    const bool empty = std::ranges::all_of(blocks.strongest, [](float s) { return s == masked_cell; });
    if (empty) return;
    make_room(tile);
    const std::vector<float> mean = blocks.mean();
    for (Index r = 0; r < blocks.rows; ++r) {
        const Index place = (to.row + r) * tile.cols + to.col;
        std::copy_n(blocks.strongest.begin() + r * blocks.cols, blocks.cols, tile.strongest.begin() + place);
        std::copy_n(mean.begin() + r * blocks.cols, blocks.cols, tile.mean.begin() + place);
    }
}

double Pyramid::progress() const {
    if (tiles_ == 0) return 1;
    double made = static_cast<double>(tiles_ - pending_.size() - jobs_.size());
    for (const TileJob& each : jobs_) made += each.job.progress();
    return made / static_cast<double>(tiles_);
}

const Tile& Pyramid::tile(TileAt at) const {
    const Level& l = level(at.level);
    return l.tiles[size(at.row * l.tile_cols + at.col)];
}
Index Pyramid::tile_rows(Index l) const { return level(l).tile_rows; }
Index Pyramid::tile_cols(Index l) const { return level(l).tile_cols; }

MapSums Pyramid::sums() const {
    MapSums all(map_->queries(), map_->keys());
    const auto add = [](const std::vector<std::vector<double>>& parts, std::vector<double>& to) {
        for (const std::vector<double>& part : parts)
            for (std::size_t i = 0; i < to.size(); ++i) to[i] += part[i];
    };
    add(query_sums_, all.queries);
    add(entropies_, all.entropies);
    add(key_sums_, all.keys);
    all.not_numbers = not_numbers_;
    return all;
}

std::size_t Pyramid::bytes() const {
    const auto of = [](const auto& values) { return values.capacity() * sizeof(values[0]); };
    std::size_t bytes = 0;
    for (const Level& l : levels_)
        for (const Tile& tile : l.tiles) bytes += of(tile.strongest) + of(tile.mean) + of(tile.ready);
    for (const auto* parts : {&key_sums_, &query_sums_, &entropies_})
        for (const std::vector<double>& part : *parts) bytes += of(part);
    for (const TileJob& each : jobs_) bytes += each.job.bytes();
    if (sample_) bytes += of(sample_->strongest) + of(sample_->mean);
    return bytes;
}

}  // namespace attn
