#include "app/map_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::app {

namespace {

constexpr Index cells_a_step = Index{1} << 16;
constexpr float masked = -std::numeric_limits<float>::infinity();

// Of a block of cells the one that is shown: NaN before all, then the largest; of signed scores the farthest
// from zero. Masked cells count only among themselves.
float stronger(float a, float b, bool is_signed) {
    if (a == masked || std::isnan(b)) return b;
    if (b == masked || std::isnan(a)) return a;
    return (is_signed ? std::abs(b) > std::abs(a) : b > a) ? b : a;
}

}  // namespace

Stage stage_of(MapStage map) {
    switch (map) {
        case MapStage::scaled: return Stage::scaled;
        case MapStage::weight: return Stage::weight;
        case MapStage::contribution: return Stage::contribution;
    }
    return Stage::weight;
}

void MapTiles::show(std::shared_ptr<const Trace> trace, Index layer, Index head, MapStage stage) {
    if (trace != trace_ || layer != layer_ || head != head_ || stage != stage_) {
        trace_ = std::move(trace);
        layer_ = layer;
        head_ = head;
        stage_ = stage;
        tiles_.clear();
    }
    std::erase_if(tiles_, [&](const auto& entry) {
        const Tile& tile = entry.second;
        return tile.wanted < frame_ && (tile.complete_rows < tile.rows || tiles_.size() > kept);
    });
    ++frame_;
}

const MapTiles::Tile* MapTiles::want(Index level, Index row, Index col) {
    const Index n = ((trace_->tokens() - 1) >> level) + 1;
    Tile& tile = tiles_[{level, row, col}];
    if (tile.serial == 0) {
        tile.serial = ++serials_;
        tile.rows = std::min(side, n - row * side);
        tile.cols = std::min(side, n - col * side);
        tile.values.assign(static_cast<std::size_t>(tile.rows * tile.cols), masked);
    }
    tile.wanted = frame_;
    return tile.complete_rows == tile.rows ? &tile : nullptr;
}

const MapTiles::Tile* MapTiles::find(Index level, Index row, Index col) const {
    const auto found = tiles_.find({level, row, col});
    return found != tiles_.end() && found->second.complete_rows == found->second.rows ? &found->second
                                                                                      : nullptr;
}

const float* MapTiles::cell(Index query, Index key) const {
    const Tile* tile = find(0, query / side, key / side);
    return tile ? &tile->values[static_cast<std::size_t>(query % side * tile->cols + key % side)] : nullptr;
}

bool MapTiles::step() {
    const auto incomplete = [&](const auto& entry) {
        return entry.second.wanted == frame_ && entry.second.complete_rows < entry.second.rows;
    };
    const auto next = std::ranges::find_if(tiles_, incomplete);
    if (next == tiles_.end()) return false;
    compute(next->first, next->second);
    return std::ranges::any_of(tiles_, incomplete);
}

void MapTiles::compute(const At& at, Tile& tile) {
    const Record& record = trace_->layers()[static_cast<std::size_t>(layer_)].attention;
    const Index block = Index{1} << at.level, n = trace_->tokens();
    const Index first_row = at.row * side * block, first_col = at.col * side * block;
    const Range cols{first_col, std::min(first_col + tile.cols * block, n)};
    const Index value_rows =
        std::clamp(cells_a_step / (cols.size() * block), Index{1}, tile.rows - tile.complete_rows);
    const Range rows{first_row + tile.complete_rows * block,
                     std::min(first_row + (tile.complete_rows + value_rows) * block, n)};
    tile.complete_rows += value_rows;
    if (record.spec().mask.tile(head_, rows, cols) == Coverage::none) return;

    cells_.resize(static_cast<std::size_t>(rows.size() * cols.size()));
    allowed_.resize(static_cast<std::size_t>(cols.size()));
    record.stage(stage_of(stage_), head_, rows, cols, cells_);
    const float* cell = cells_.data();
    for (Index q = rows.begin; q < rows.end; ++q) {
        record.spec().mask.row(head_, q, cols.begin, allowed_);
        float* values = tile.values.data() + ((q - first_row) >> at.level) * tile.cols;
        for (Index j = 0; j < cols.size(); ++j, ++cell)
            if (allowed_[static_cast<std::size_t>(j)])
                values[j >> at.level] = stronger(values[j >> at.level], *cell, stage_ == MapStage::scaled);
    }
}

}  // namespace attn::app
