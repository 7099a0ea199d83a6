#include "maps/thumbnails.hpp"

#include <algorithm>

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
    const Map& first = *t.maps_.front();
    for (const MapPointer& map : t.maps_)
        if (map->queries() != first.queries() || map->keys() != first.keys())
            return Error{"thumbnails: one map is " + to_string({first.queries(), first.keys()}) +
                         " and another " + to_string({map->queries(), map->keys()}) +
                         "; give maps of one shape"};
    t.level_ = level_of(first.queries(), first.keys(), side);
    t.rows_ = texels(first.queries(), t.level_);
    t.cols_ = texels(first.keys(), t.level_);
    const Index down = (std::ssize(t.maps_) + columns - 1) / columns;
    t.strongest_ = Tensor({down * t.rows_, columns * t.cols_});
    std::ranges::fill(t.strongest_.values(), masked_cell);
    t.mean_ = t.strongest_;
    return t;
}

void Thumbnails::look_at(std::size_t map) { first_ = map; }

// Returns the next map, going round from the one looked at, whose state is before the wanted one.
std::size_t Thumbnails::next(State wanted) const {
    std::size_t map = first_;
    while (states_[map] >= wanted) map = (map + 1) % maps_.size();
    return map;
}

bool Thumbnails::step() {
    if (done()) return false;
    // If a texel is a cell, there is nothing to sample.
    const bool sampling = level_ > 0 && sampled_ < maps_.size();
    if (!job_) {
        current_ = next(sampling ? State::sampled : State::exact);
        job_ = sampling ? sample_job(maps_[current_], side_, *kernels_)
                        : BlockJob(maps_[current_], whole(*maps_[current_]), Index{1} << level_,
                                   Index{1} << level_, *kernels_);
    }
    if (!job_->step()) {
        put(current_, job_->blocks(), sampling ? State::sampled : State::exact);
        job_.reset();
    }
    return !done();
}

void Thumbnails::put(std::size_t map, const Blocks& blocks, State state) {
    const Index place = static_cast<Index>(map), row = place / columns_ * rows_,
                col = place % columns_ * cols_;
    const std::vector<float> mean = blocks.mean();
    for (Index r = 0; r < blocks.rows; ++r) {
        std::copy_n(blocks.strongest.begin() + r * cols_, cols_, strongest_.matrix().row(row + r) + col);
        std::copy_n(mean.begin() + r * cols_, cols_, mean_.matrix().row(row + r) + col);
    }
    if (states_[map] == State::nothing) ++sampled_;
    if (state == State::exact) ++exact_;
    states_[map] = state;
    ++version_;
}

}  // namespace attn
