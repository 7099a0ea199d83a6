#include "maps/tiles.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

std::uint64_t texel_serials = 0;  // over all MapTiles

// Stands for an infinite cell, because infinity says something else in a picture.
constexpr float largest = std::numeric_limits<float>::max();

std::vector<float> drawable(std::vector<float> values) {
    std::ranges::replace(values, unknown_texel, largest);
    return values;
}

}  // namespace

void MapTiles::show(const MapPointer& map, Pooling pooling, bool being_measured, Index same_queries) {
    being_measured_ = being_measured;
    if (map != map_) {
        const std::shared_ptr<Pyramid> before = std::move(pyramid_);
        map_ = map;
        fine_.clear();
        shown_.clear();
        pyramid_.reset();
        extent_ = 0;
        extent_of_ = 0;
        quantiles_.serial = 0;
        sums_.reset();
        if (map && map->queries() > 0 && map->keys() > 0) pyramid_ = std::make_shared<Pyramid>(map);
        if (pyramid_ && before && same_queries > 0 && !being_measured) {
            pyramid_->take_over(*before, same_queries);
            while (pyramid_->nearly_done() && pyramid_->step()) {
            }
        }
    }
    if (pyramid_) note_extent();
    if (pooling != pooling_) {
        shown_.clear();
        quantiles_.serial = 0;
    }
    pooling_ = pooling;
    note_sums();
    ++frame_;
    keep_room();
}

// The tiles that were asked for longest ago go first; those of this frame and the last stay.
void MapTiles::keep_room() {
    while (fine_.size() > kept) {
        const auto oldest =
            std::ranges::min_element(fine_, {}, [](const auto& entry) { return entry.second.wanted; });
        if (oldest->second.wanted + 1 >= frame_) return;
        shown_.erase(oldest->first);
        fine_.erase(oldest);
    }
}

void MapTiles::look_at(Index level, Range queries, Range keys) {
    pyramid_->look_at(queries, keys);
    if (being_measured_) return;
    // Jobs that nobody waits for any more are dropped with what they have done.
    if (level < pyramid_->finest()) {
        const Index span = tile_side << level;
        for (Index row = queries.begin / span; row * span < queries.end; ++row)
            for (Index col = keys.begin / span; col * span < keys.end; ++col) {
                const TileAt at{level, row, col};
                Fine& fine = fine_[at];
                if (fine.wanted == 0) fine.job = tile_job(map_, at);
                fine.wanted = frame_;
            }
    }
    std::erase_if(fine_, [&](const auto& entry) { return entry.second.job && entry.second.wanted < frame_; });
}

const MapTiles::Texels* MapTiles::find(TileAt at) {
    if (at.level < pyramid_->finest()) {
        const auto found = fine_.find(at);
        if (found == fine_.end() || found->second.job) return nullptr;
        const Fine& fine = found->second;
        Shown& shown = shown_[at];
        if (shown.texels.serial == 0) {
            const bool mean = pooling_ == Pooling::mean && at.level > 0;
            shown.texels = {++texel_serials, fine.rows, fine.cols,
                            drawable(mean ? fine.mean : fine.strongest), true};
        }
        return &shown.texels;
    }
    const Tile& tile = pyramid_->tile(at);
    const SampledRows* sample = at.level == pyramid_->coarsest() ? this->sample() : nullptr;
    if (tile.version == 0 && !sample) return nullptr;
    Shown& shown = shown_[at];
    if (shown.version == tile.version) return &shown.texels;
    shown.version = tile.version;
    Texels& texels = shown.texels;
    texels = {++texel_serials, tile.rows, tile.cols, {}, tile.complete()};
    const auto& values = pooling_ == Pooling::mean ? tile.mean : tile.strongest;
    texels.values = values.empty()
                        ? std::vector<float>(static_cast<std::size_t>(tile.rows * tile.cols), masked_cell)
                        : drawable(values);
    if (texels.complete) return &texels;
    // One for each block of the single coarsest tile.
    const std::vector<float> sampled = !sample                     ? std::vector<float>{}
                                       : pooling_ == Pooling::mean ? drawable(sample->mean)
                                                                   : drawable(sample->strongest);
    for (Index row = 0; row < tile.rows; ++row)
        for (Index col = 0; col < tile.cols; ++col)
            if (const auto i = static_cast<std::size_t>(row * tile.cols + col); !tile.ready_at(row, col))
                texels.values[i] = sample ? sampled[i] : unknown_texel;
    return &texels;
}

const SampledRows* MapTiles::sample() const {
    return pyramid_ && !pyramid_->tile({pyramid_->coarsest(), 0, 0}).complete() ? pyramid_->sample()
                                                                                : nullptr;
}

std::optional<float> MapTiles::cell(Index query, Index key) {
    const Texels* texels = find({0, query / tile_side, key / tile_side});
    if (!texels) return std::nullopt;
    const float value =
        texels->values[static_cast<std::size_t>(query % tile_side * texels->cols + key % tile_side)];
    return value == unknown_texel ? std::nullopt : std::optional(value);
}

bool MapTiles::step() {
    if (!pyramid_) return false;
    // Where somebody looks is computed before what they may zoom out to.
    for (auto& [at, fine] : fine_)
        if (fine.job) {
            if (!fine.job->step()) {
                const Blocks& blocks = fine.job->blocks();
                fine.rows = blocks.rows;
                fine.cols = blocks.cols;
                fine.strongest = blocks.strongest;
                if (at.level > 0) fine.mean = blocks.mean();
                fine.job.reset();
            }
            return true;
        }
    if (awaits_measuring()) return false;
    const bool more = pyramid_->step();
    note_extent();
    if (!more) note_sums();
    return more;
}

bool MapTiles::working() const {
    if (!pyramid_) return false;
    const bool closer =
        std::ranges::any_of(fine_, [](const auto& entry) { return entry.second.job.has_value(); });
    return closer || (!awaits_measuring() && !pyramid_->done());
}

// All that can be made before the map is measured is made.
bool MapTiles::awaits_measuring() const {
    return being_measured_ && (pyramid_->sample() || pyramid_->coarsest() == 0);
}

void MapTiles::note_sums() {
    if (pyramid_ && pyramid_->done() && !sums_) sums_ = pyramid_->sums();
}

const Quantiles* MapTiles::quantiles() {
    if (!pyramid_ || !pyramid_->done()) return nullptr;
    if (quantiles_.serial == 0) {
        const Tile& all = pyramid_->tile({pyramid_->coarsest(), 0, 0});
        quantiles_ = quantiles_of(pooling_ == Pooling::mean ? all.mean : all.strongest, ++texel_serials);
    }
    return &quantiles_;
}

void MapTiles::note_extent() {
    const Tile& all = pyramid_->tile({pyramid_->coarsest(), 0, 0});
    if (const SampledRows* sample = this->sample(); sample && extent_ == 0)
        for (const float value : sample->strongest)
            if (std::isfinite(value)) extent_ = std::max(extent_, std::abs(value));
    if (all.version == extent_of_) return;
    extent_of_ = all.version;
    for (Index row = 0; row < all.rows; ++row)
        for (Index col = 0; col < all.cols && !all.strongest.empty(); ++col)
            if (const float value = std::abs(all.strongest[static_cast<std::size_t>(row * all.cols + col)]);
                all.ready_at(row, col) && std::isfinite(value))
                extent_ = std::max(extent_, value);
}

}  // namespace attn
