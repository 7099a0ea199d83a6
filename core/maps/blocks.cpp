#include "maps/blocks.hpp"

#include <algorithm>

#include "kernels/pool.hpp"
#include "kernels/workers.hpp"

namespace attn {

namespace {

// A chunk's cells, and the keys they are made from, fit into the second-level cache.
constexpr Index chunk_side = 256;

std::size_t size(Index n) { return static_cast<std::size_t>(n); }
std::size_t size(Index rows, Index cols) { return size(rows) * size(cols); }

MatrixView<float> part_of(std::vector<float>& grid, Index cols, Range rows, Range columns) {
    return {grid.data() + rows.begin * cols + columns.begin, rows.size(), columns.size(), cols};
}

// The blocks that a chunk's rows, or its keys, belong to.
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

namespace {

// Applies f to each pair of rows, then to each pair of columns of the result. An odd last one stays as it is.
template <class F>
void halve(const std::vector<float>& from, Index rows, Index cols, std::vector<float>& to, F f) {
    std::vector<float> both(size(cols));
    for (Index r = 0; r < rows; r += 2) {
        const float* first = from.data() + r * cols;
        float* out = to.data() + r / 2 * ((cols + 1) / 2);
        if (r + 1 < rows)
            for (Index c = 0; c < cols; ++c) both[size(c)] = f(first[c], first[cols + c]);
        else
            std::copy_n(first, cols, both.begin());
        const float* pairs = both.data();
        for (Index c = 0; c < cols / 2; ++c) out[c] = f(pairs[2 * c], pairs[2 * c + 1]);
        if (cols % 2) out[cols / 2] = both.back();
    }
}

}  // namespace

Blocks Blocks::halved(bool is_signed) const {
    Blocks half((rows + 1) / 2, (cols + 1) / 2);
    const auto add = [](float a, float b) { return a + b; };
    if (is_signed)
        halve(strongest, rows, cols, half.strongest, [](float a, float b) { return stronger(a, b, true); });
    else
        halve(strongest, rows, cols, half.strongest, [](float a, float b) { return stronger(a, b, false); });
    halve(sum, rows, cols, half.sum, add);
    halve(count, rows, cols, half.count, add);
    return half;
}

MapSums::MapSums(Index rows, Index key_count)
    : queries(size(rows)), entropies(size(rows)), keys(size(key_count)) {}

BlockJob::BlockJob(MapPointer map, MapWindow window, Index block_rows, Index block_keys,
                   const Kernels& kernels, Index chunk_rows)
    : map_(std::move(map)),
      kernels_(&kernels),
      window_(window),
      block_rows_(block_rows),
      block_keys_(block_keys),
      blocks_(in_blocks({0, window.rows()}, block_rows).size(),
              in_blocks({0, window.keys.size()}, block_keys).size()),
      sums_(window.rows(), window.keys.size()) {
    // A chunk consists of whole blocks.
    const Index rows = std::max(block_rows, chunk_rows / block_rows * block_rows),
                keys = std::max(block_keys, chunk_side / block_keys * block_keys);
    chunks_a_task_ = size(std::max<Index>(chunk_side * chunk_side / (rows * keys), 1));
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
    compute_some(nullptr);
    return !done();
}

bool BlockJob::takes(const ScoredRows& rows) const {
    return !done() && rows.queries.holds(window_.query(chunks_[next_].rows.begin));
}

void BlockJob::take(const ScoredRows& rows) { compute_some(&rows); }

void BlockJob::compute_some(const ScoredRows* rows) {
    slots_.resize(size(thread_count()) * chunks_a_task_);
    std::size_t count = std::min(slots_.size(), chunks_.size() - next_);
    while (rows && !rows->queries.holds(window_.query(chunks_[next_ + count - 1].rows.begin))) --count;
    for_each_task(static_cast<Index>(count),
                  [&](Index i) { compute(chunks_[next_ + size(i)], rows, slots_[size(i)]); });
    for (std::size_t i = 0; i < count; ++i) add(chunks_[next_ + i], slots_[i].sums);
    next_ += count;
    if (done()) slots_.clear();
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

void BlockJob::compute(const Chunk& chunk, const ScoredRows* given, Slot& slot) {
    const Range rows = in_blocks(chunk.rows, block_rows_), cols = in_blocks(chunk.keys, block_keys_);
    const auto in_place = [&](std::vector<float>& grid) { return part_of(grid, blocks_.cols, rows, cols); };
    const MapWindow part{{window_.query(chunk.rows.begin), window_.query(chunk.rows.end - 1) + 1},
                         {window_.keys.begin + chunk.keys.begin, window_.keys.begin + chunk.keys.end},
                         window_.step};
    slot.sums = MapSums(chunk.rows.size(), chunk.keys.size());
    PoolCall call{.cells = {},
                  .block_rows = block_rows_,
                  .block_cols = block_keys_,
                  .may_be_masked = chunk.may_be_masked,
                  .is_signed = map_->is_signed(),
                  .strongest = in_place(blocks_.strongest),
                  .sum = in_place(blocks_.sum),
                  .count = in_place(blocks_.count),
                  .row_sums = slot.sums.queries,
                  .column_sums = slot.sums.keys};
    if (block_rows_ > 1 || block_keys_ > 1) {
        MatrixView<float> cells{nullptr, chunk.rows.size(), chunk.keys.size(), chunk.keys.size()};
        if (given) {
            cells.data = given->scores.row(part.queries.begin - given->queries.begin) + part.keys.begin;
            cells.row_stride = given->scores.row_stride;
            map_->cells_from_scores(part, cells, slot.sums.entropies);
        } else {
            slot.cells.resize(size(cells.rows, cells.cols));
            cells.data = slot.cells.data();
            map_->cells(part, cells, slot.sums.entropies);
        }
        call.cells = cells;
        slot.sums.not_numbers = kernels_->pool(call);
        return;
    }
    // Each block is one cell here, so only the sums along rows and columns are pooled.
    map_->cells(part, call.strongest, slot.sums.entropies);
    for (Index r = 0; r < call.sum.rows; ++r)
        for (Index c = 0; c < call.sum.cols; ++c) {
            const float cell = call.strongest(r, c);
            call.sum(r, c) = cell == masked_cell ? 0 : cell;
            call.count(r, c) = cell == masked_cell ? 0 : 1;
        }
    float strongest, sum, count;
    call.cells = call.strongest;
    call.block_rows = rows.size();
    call.block_cols = cols.size();
    call.strongest = {&strongest, 1, 1, 1};
    call.sum = {&sum, 1, 1, 1};
    call.count = {&count, 1, 1, 1};
    slot.sums.not_numbers = kernels_->pool(call);
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
