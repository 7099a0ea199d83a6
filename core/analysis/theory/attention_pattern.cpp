#include "analysis/theory/attention_pattern.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index block_size = 3;

}  // namespace

std::vector<std::uint8_t> cells_of(const Pattern& pattern) {
    if (pattern.kind == PatternKind::painted) return pattern.painted;
    const Index n = pattern.tokens;
    std::vector<Index> looked_at(static_cast<std::size_t>(n));
    std::iota(looked_at.begin(), looked_at.end(), Index{0});
    Random random(pattern.seed);
    if (pattern.kind == PatternKind::permutation)  // Fisher–Yates shuffle
        for (Index i = n - 1; i > 0; --i)
            std::swap(looked_at[static_cast<std::size_t>(i)],
                      looked_at[static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(i + 1)))]);
    std::vector<std::uint8_t> cells(static_cast<std::size_t>(n * n));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            bool on = j == looked_at[static_cast<std::size_t>(i)];
            if (pattern.kind == PatternKind::previous) on = j == std::max<Index>(i - 1, 0);
            if (pattern.kind == PatternKind::first) on = j == 0;
            if (pattern.kind == PatternKind::blocks) on = i / block_size == j / block_size;
            cells[static_cast<std::size_t>(i * n + j)] = on;
        }
    return cells;
}

std::vector<double> target_of(const Pattern& pattern) {
    const std::vector<std::uint8_t> cells = cells_of(pattern);
    std::vector<double> target(cells.begin(), cells.end());
    for (auto row = target.begin(); row != target.end(); row += pattern.tokens) {
        const double sum = std::accumulate(row, row + pattern.tokens, 0.0);
        for (auto cell = row; sum > 0 && cell != row + pattern.tokens; ++cell) *cell /= sum;
    }
    return target;
}

std::vector<CellWish> wishes_of(const Pattern& pattern, const Record& record, Index head) {
    constexpr double of_a_row = 0.9;
    const std::vector<std::uint8_t> cells = cells_of(pattern);
    std::vector<CellWish> wishes;
    for (Index i = 0; i < std::min(pattern.tokens, record.queries()); ++i) {
        std::vector<Index> keys;
        Index seen = 0;
        for (Index j = 0; j < record.keys(); ++j) {
            if (!record.spec().mask.allows(head, i, j)) continue;
            ++seen;
            if (j < pattern.tokens && cells[static_cast<std::size_t>(i * pattern.tokens + j)])
                keys.push_back(j);
        }
        // A key without a target has to take the remaining weight.
        if (std::ssize(keys) == seen) continue;
        for (const Index key : keys) wishes.push_back({i, key, of_a_row / static_cast<double>(keys.size())});
    }
    return wishes;
}

}  // namespace attn
