#include "maps/thumbnails.hpp"

#include <algorithm>

#include "kernels/pool.hpp"

namespace attn {

Result<Thumbnails> Thumbnails::start(std::vector<MapPointer> maps, Index columns, Index side,
                                     const Kernels& kernels) {
    Thumbnails t;
    t.maps_ = std::move(maps);
    t.states_.resize(t.maps_.size());
    t.kernels_ = &kernels;
    t.columns_ = columns;
    t.side_ = side;
    if (t.maps_.empty()) return t;
    Index queries = 0, keys = 0;
    for (const MapPointer& map : t.maps_) {
        queries = std::max(queries, map->queries());
        keys = std::max(keys, map->keys());
    }
    t.level_ = level_of(queries, keys, side);
    t.rows_ = texels(queries, t.level_);
    t.cols_ = texels(keys, t.level_);
    const Index down = (std::ssize(t.maps_) + columns - 1) / columns;
    const Shape shape{down * t.rows_, columns * t.cols_};
    if (const auto fits = element_count(shape, sizeof(float)); !fits)
        return Error{"the thumbnails of " + std::to_string(t.maps_.size()) +
                     " heads do not fit into memory: " + fits.error().message};
    t.strongest_ = Tensor(shape);
    std::ranges::fill(t.strongest_.values(), masked_cell);
    t.mean_ = t.strongest_;
    return t;
}

void Thumbnails::take_over(const Thumbnails& before, Index kept) {
    if (maps_.empty() || before.states_.size() != states_.size() || before.columns_ != columns_) return;
    kept_rows_ = std::min(kept >> level_, rows_);
    if (2 * kept_rows_ < rows_) return;
    const bool same_level = before.level_ == level_;
    // The texels of the others that a texel lies on.
    const auto texels_on = [&](Index texel, Index limit) {
        return Range{std::min((texel << level_) >> before.level_, limit),
                     std::min(((((texel + 1) << level_) - 1) >> before.level_) + 1, limit)};
    };
    for (std::size_t map = 0; map < states_.size(); ++map) {
        if (before.states_[map] == State::nothing) continue;
        const bool is_signed = maps_[map]->is_signed();
        const Index down = static_cast<Index>(map) / columns_, across = static_cast<Index>(map) % columns_;
        for (Index r = 0; r < kept_rows_; ++r)
            for (Index c = 0; c < cols_; ++c) {
                const Range rows = texels_on(r, before.rows_), cols = texels_on(c, before.cols_);
                float strongest = masked_cell, sum = 0, count = 0;
                for (Index row = rows.begin; row < rows.end; ++row)
                    for (Index col = cols.begin; col < cols.end; ++col) {
                        const Index at = down * before.rows_ + row, to = across * before.cols_ + col;
                        const float mean = before.mean()(at, to);
                        if (mean == masked_cell) continue;
                        strongest = stronger(strongest, before.strongest()(at, to), is_signed);
                        sum += mean;
                        ++count;
                    }
                if (count == 0) continue;
                strongest_.matrix()(down * rows_ + r, across * cols_ + c) = strongest;
                mean_.matrix()(down * rows_ + r, across * cols_ + c) = sum / count;
            }
        const bool behind = same_level && before.states_[map] == State::exact;
        states_[map] = behind ? State::behind : State::sampled;
        ++sampled_;
        behind_ += behind;
    }
    ++version_;
}

Index Thumbnails::first_row(std::size_t map) const { return states_[map] == State::behind ? kept_rows_ : 0; }

bool Thumbnails::is_small(std::size_t map) const {
    return level_of(maps_[map]->queries(), maps_[map]->keys(), side_) < level_;
}

void Thumbnails::look_at(std::size_t map) { first_ = map; }

// Returns the next map, going round from the one looked at, whose state is before the wanted one; those that
// are behind take little and come first.
std::size_t Thumbnails::next(State wanted) const {
    std::size_t map = first_;
    while (behind_ > 0 ? states_[map] != State::behind : states_[map] >= wanted)
        map = (map + 1) % maps_.size();
    return map;
}

bool Thumbnails::step() {
    if (done()) return false;
    // If a texel is a cell, there is nothing to sample.
    const bool first_round = level_ > 0 && sampled_ < maps_.size() && behind_ == 0;
    if (!job_) current_ = next(first_round ? State::sampled : State::exact);
    const bool sampling = first_round && !is_small(current_);
    if (!job_) {
        MapWindow window = whole(*maps_[current_]);
        window.queries.begin = std::min(first_row(current_) << level_, window.queries.end);
        job_ = sampling
                   ? sample_job(maps_[current_], side_, *kernels_)
                   : BlockJob(maps_[current_], window, Index{1} << level_, Index{1} << level_, *kernels_);
    }
    if (!job_->step()) {
        put(current_, first_row(current_), job_->blocks(), sampling ? State::sampled : State::exact);
        job_.reset();
    }
    return !done();
}

void Thumbnails::put(std::size_t map, Index first_row, const Blocks& blocks, State state) {
    const Index place = static_cast<Index>(map), row = place / columns_ * rows_ + first_row,
                col = place % columns_ * cols_;
    const std::vector<float> mean = blocks.mean();
    for (Index r = 0; r < blocks.rows; ++r) {
        std::copy_n(blocks.strongest.begin() + r * blocks.cols, blocks.cols,
                    strongest_.matrix().row(row + r) + col);
        std::copy_n(mean.begin() + r * blocks.cols, blocks.cols, mean_.matrix().row(row + r) + col);
    }
    if (states_[map] == State::nothing) ++sampled_;
    if (states_[map] == State::behind) --behind_;
    if (state == State::exact) ++exact_;
    states_[map] = state;
    ++version_;
}

}  // namespace attn
