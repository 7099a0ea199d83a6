#include "maps/blocks.hpp"

#include <algorithm>

#include "kernels/pool.hpp"
#include "kernels/workers.hpp"

namespace attn {

namespace {

// A chunk's cells and the keys they are made of stay in the second-level cache.
constexpr Index chunk_side = 256;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }
std::size_t size(Index rows, Index cols) { return size(rows) * size(cols); }

MatrixView<float> part_of(std::vector<float>& grid, Index cols, Range rows, Range columns) {
    return {grid.data() + rows.begin * cols + columns.begin, rows.size(), columns.size(), cols};
}

// The blocks that the rows, or keys, of a chunk lie in.
Range in_blocks(Range range, Index block) { return {range.begin / block, (range.end + block - 1) / block}; }

}  // namespace

Blocks::Blocks(Index row_count, Index col_count)
    : rows(row_count),
      cols(col_count),
      strongest(size(rows, cols), masked_cell),
      sum(size(rows, cols)),
      count(size(rows, cols)) {}

std::vector<float> Blocks::mean() const {
    std::vector<float> means(sum.size());
    for (std::size_t i = 0; i < means.size(); ++i) means[i] = count[i] == 0 ? masked_cell : sum[i] / count[i];
    return means;
}

Blocks Blocks::halved(bool is_signed) const {
    Blocks half((rows + 1) / 2, (cols + 1) / 2);
    for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < cols; ++c) {
            const std::size_t from = size(r, cols) + size(c), to = size(r / 2, half.cols) + size(c / 2);
            half.strongest[to] = stronger(half.strongest[to], strongest[from], is_signed);
            half.sum[to] += sum[from];
            half.count[to] += count[from];
        }
    return half;
}

MapSums::MapSums(Index rows, Index key_count)
    : queries(size(rows)), entropies(size(rows)), keys(size(key_count)) {}

BlockJob::BlockJob(MapPointer map, MapWindow window, Index block_rows, Index block_keys,
                   const Kernels& kernels)
    : map_(std::move(map)),
      kernels_(&kernels),
      window_(window),
      block_rows_(block_rows),
      block_keys_(block_keys),
      blocks_(in_blocks({0, window.rows()}, block_rows).size(),
              in_blocks({0, window.keys.size()}, block_keys).size()),
      sums_(window.rows(), window.keys.size()) {
    // Whole blocks.
    const Index rows = std::max(block_rows, chunk_side / block_rows * block_rows),
                keys = std::max(block_keys, chunk_side / block_keys * block_keys);
    for (Index row = 0; row < window.rows(); row += rows)
        for (Index key = 0; key < window.keys.size(); key += keys) {
            const Chunk chunk{{row, std::min(row + rows, window.rows())},
                              {key, std::min(key + keys, window.keys.size())},
                              true};
            const Coverage coverage =
                map_->coverage({window.query(chunk.rows.begin), window.query(chunk.rows.end - 1) + 1},
                               {window.keys.begin + chunk.keys.begin, window.keys.begin + chunk.keys.end});
            if (coverage == Coverage::none) continue;
            chunks_.push_back(chunk);
            chunks_.back().may_be_masked = coverage == Coverage::some;
        }
}

bool BlockJob::step() {
    slots_.resize(size(thread_count()));
    const std::size_t count = std::min(slots_.size(), chunks_.size() - next_);
    for_each_task(static_cast<Index>(count),
                  [&](Index i) { compute(chunks_[next_ + size(i)], slots_[size(i)]); });
    for (std::size_t i = 0; i < count; ++i) add(chunks_[next_ + i], slots_[i].sums);
    next_ += count;
    if (done()) slots_.clear();
    return !done();
}

double BlockJob::progress() const {
    return chunks_.empty() ? 1 : static_cast<double>(next_) / static_cast<double>(chunks_.size());
}

std::size_t BlockJob::bytes() const {
    const auto of = [](const auto&... vectors) { return (... + (vectors.capacity() * sizeof(vectors[0]))); };
    std::size_t bytes = of(chunks_, blocks_.strongest, blocks_.sum, blocks_.count, sums_.queries,
                           sums_.entropies, sums_.keys);
    for (const Slot& slot : slots_)
        bytes += of(slot.cells, slot.sums.queries, slot.sums.entropies, slot.sums.keys);
    return bytes;
}

void BlockJob::compute(const Chunk& chunk, Slot& slot) {
    slot.cells.resize(size(chunk.rows.size(), chunk.keys.size()));
    slot.sums = MapSums(chunk.rows.size(), chunk.keys.size());
    const MatrixView<float> cells{slot.cells.data(), chunk.rows.size(), chunk.keys.size(), chunk.keys.size()};
    map_->cells({{window_.query(chunk.rows.begin), window_.query(chunk.rows.end - 1) + 1},
                 {window_.keys.begin + chunk.keys.begin, window_.keys.begin + chunk.keys.end},
                 window_.step},
                cells, slot.sums.entropies);
    const Range rows = in_blocks(chunk.rows, block_rows_), cols = in_blocks(chunk.keys, block_keys_);
    slot.sums.not_numbers = kernels_->pool({.cells = cells,
                                            .block_rows = block_rows_,
                                            .block_cols = block_keys_,
                                            .may_be_masked = chunk.may_be_masked,
                                            .is_signed = map_->is_signed(),
                                            .strongest = part_of(blocks_.strongest, blocks_.cols, rows, cols),
                                            .sum = part_of(blocks_.sum, blocks_.cols, rows, cols),
                                            .count = part_of(blocks_.count, blocks_.cols, rows, cols),
                                            .row_sums = slot.sums.queries,
                                            .column_sums = slot.sums.keys});
}

void BlockJob::add(const Chunk& chunk, const MapSums& sums) {
    for (Index r = 0; r < chunk.rows.size(); ++r) {
        sums_.queries[size(chunk.rows.begin + r)] += sums.queries[size(r)];
        sums_.entropies[size(chunk.rows.begin + r)] += sums.entropies[size(r)];
    }
    for (Index k = 0; k < chunk.keys.size(); ++k)
        sums_.keys[size(chunk.keys.begin + k)] += sums.keys[size(k)];
    sums_.not_numbers += sums.not_numbers;
}

}  // namespace attn
