#include "analysis/theory/attention_tiles.hpp"

namespace attn {

namespace {

constexpr double bytes = sizeof(float);

double number(Index count) { return static_cast<double>(count); }

}  // namespace

TileGrid tile_grid(Index queries, Index keys, TileSize size, Index most) {
    TileGrid grid{queries, keys, size};
    // Counted in doubles: a long text has more tiles of one cell than a 32-bit Index can count.
    while (number(grid.rows()) * number(grid.cols()) > number(most))
        (grid.rows() > grid.cols() ? grid.size.queries : grid.size.keys) *= 2;
    return grid;
}

TileCost naive_cost(const Record& record) {
    const double q = number(record.queries()), k = number(record.keys()), d = number(record.d_k()),
                 d_v = number(record.d_v());
    return {bytes * (q * d + k * d + 2 * q * k + k * d_v), bytes * (2 * q * k + q * d_v), q * k * (d + d_v)};
}

TileSize usual_tile_size(const Record& record, Index most) {
    TileSize size{2, 2};
    const auto moves_more = [&] {
        const Index rows = (record.queries() + size.queries - 1) / size.queries;
        return number(rows - 1) * number(record.d_k() + record.d_v()) >= 4 * number(record.queries());
    };
    while (size.queries < most && moves_more()) size.queries *= 2;
    return size;
}

double fast_memory(const Record& record, TileSize size) {
    const double q = number(size.queries), k = number(size.keys), d = number(record.d_k() + record.d_v());
    return bytes * (q * (d + 2) + k * d + q * k);
}

TileCover::TileCover(std::shared_ptr<const Record> record, Index head, const TileGrid& grid)
    : record_(std::move(record)),
      head_(head),
      grid_(grid),
      keys_{0},
      cells_{0},
      allowed_(at(std::min(grid.size.keys, grid.keys))) {}

bool TileCover::sees_nothing(Range queries, Range keys) {
    const Mask& mask = record_->spec().mask;
    constexpr Index cells_a_tile = 16;  // the cost of asking the mask about a tile, in cells
    examined_ += cells_a_tile;
    const Coverage coverage = mask.tile(head_, queries, keys);
    if (coverage != Coverage::some) return coverage == Coverage::none;
    const std::span<std::uint8_t> allowed = std::span(allowed_).first(at(keys.size()));
    for (Index query = queries.begin; query < queries.end; ++query) {
        mask.row(head_, query, keys.begin, allowed);
        examined_ += keys.size();
        if (std::ranges::find(allowed, 1) != allowed.end()) return false;
    }
    return true;
}

bool TileCover::step() {
    constexpr Index cells_a_step = Index{1} << 18;
    for (examined_ = 0; !done() && examined_ < cells_a_step; ++next_) {
        const Range queries = grid_.queries_of(grid_.row(next_)), keys = grid_.keys_of(grid_.col(next_));
        const bool skips = sees_nothing(queries, keys);
        skipped_ += skips;
        keys_.push_back(keys_.back() + (skips ? 0 : keys.size()));
        cells_.push_back(cells_.back() + (skips ? 0 : number(keys.size() * queries.size())));
    }
    return !done();
}

Index TileCover::neighbour(Index tile, Index direction) const {
    for (Index next = tile + direction; next >= 0 && next < grid_.count(); next += direction)
        if (!skipped(next)) return next;
    return tile;
}

TileCost TileCover::cost(Index tiles) const {
    const Index begun = (tiles + grid_.cols() - 1) / grid_.cols(), ended = tiles / grid_.cols();
    const double d = number(record_->d_k()), d_v = number(record_->d_v());
    const auto queries = [&](Index rows) {
        return number(std::min(rows * grid_.size.queries, grid_.queries));
    };
    return {bytes * (queries(begun) * d + number(keys_[at(tiles)]) * (d + d_v)), bytes * queries(ended) * d_v,
            cells_[at(tiles)] * (d + d_v)};
}

}  // namespace attn
