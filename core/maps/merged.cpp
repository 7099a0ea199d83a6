#include "maps/merged.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {

namespace {

constexpr Index rows_at_once = 64;  // rows of the underlying map

const Range& at(const std::vector<Range>& groups, Index i) { return groups[static_cast<std::size_t>(i)]; }

// Spans from the first of these groups to the last.
Range together(const std::vector<Range>& groups, Range range) {
    return range.size() <= 0 ? Range{0, 0}
                             : Range{at(groups, range.begin).begin, at(groups, range.end - 1).end};
}

class MergedMap final : public Map {
  public:
    MergedMap(MapPointer weights, std::vector<Range> queries, std::vector<Range> keys)
        : Map(std::ssize(queries), std::ssize(keys), weights->is_signed()),
          weights_(std::move(weights)),
          queries_(std::move(queries)),
          keys_(std::move(keys)) {}

    Coverage coverage(Range queries, Range keys) const override {
        return weights_->coverage(together(queries_, queries), together(keys_, keys));
    }

    void cells(const MapWindow& window, MatrixView<float> out, std::span<double> entropy) const override {
        if (out.rows == 0 || out.cols == 0) return;
        const Range keys = together(keys_, window.keys);
        std::vector<float> rows(static_cast<std::size_t>(rows_at_once * keys.size()));
        Row row(out.cols);
        for (Index r = 0; r < out.rows;) {
            // Consecutive groups are computed together.
            const Index first = window.query(r), last = window.step == 1 ? window.queries.end : first + 1;
            const Range queries = together(queries_, {first, last});
            for (Index q = queries.begin; q < queries.end; q += rows_at_once) {
                const Range some{q, std::min(q + rows_at_once, queries.end)};
                weights_->cells({some, keys}, {rows.data(), some.size(), keys.size(), keys.size()});
                for (Index i = 0; i < some.size(); ++i) {
                    row.add(rows.data() + i * keys.size(), keys.begin, keys_, window.keys.begin);
                    const Range& group = at(queries_, window.query(r));
                    if (some.begin + i + 1 < group.end) continue;
                    const double found =
                        row.take({out.row(r), static_cast<std::size_t>(out.cols)}, group.size());
                    if (!entropy.empty()) entropy[static_cast<std::size_t>(r)] += found;
                    ++r;
                }
            }
        }
    }

  private:
    // A row that is being summed up.
    struct Row {
        explicit Row(Index cells) : sums(static_cast<std::size_t>(cells)), some(sums.size()) {}

        void add(const float* cells, Index first, const std::vector<Range>& groups, Index group) {
            for (std::size_t j = 0; j < sums.size(); ++j) {
                const Range& keys = at(groups, group + static_cast<Index>(j));
                for (Index key = keys.begin; key < keys.end; ++key) {
                    const float cell = cells[key - first];
                    if (cell == masked_cell) continue;
                    sums[j] += static_cast<double>(cell);
                    some[j] = 1;
                }
            }
        }
        // Writes the mean over `rows` rows, returns its −Σ w ln w, and starts anew.
        double take(std::span<float> out, Index rows) {
            double entropy = 0;
            for (std::size_t j = 0; j < sums.size(); ++j) {
                const double mean = sums[j] / static_cast<double>(rows);
                if (some[j] && (mean > 0 || std::isnan(mean))) entropy -= mean * std::log(mean);
                out[j] = some[j] ? static_cast<float>(mean) : masked_cell;
                sums[j] = 0;
                some[j] = 0;
            }
            return entropy;
        }

        std::vector<double> sums;
        std::vector<std::uint8_t> some;  // whether some of its cells are not masked
    };

    MapPointer weights_;
    std::vector<Range> queries_, keys_;
};

}  // namespace

MapPointer merged_map(MapPointer weights, std::vector<Range> queries, std::vector<Range> keys) {
    return std::make_shared<MergedMap>(std::move(weights), std::move(queries), std::move(keys));
}

}  // namespace attn
