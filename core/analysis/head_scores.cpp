#include "analysis/head_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace attn {

namespace {

constexpr Index rows_a_step = 64, keys_a_step = 1024, tile_keys = 256;

// Narrows the keys by whole tiles at both ends in which the mask leaves nothing.
Range unmasked_part(const Map& map, Range rows, Range keys) {
    const auto nothing_in = [&](Range tile) { return map.coverage(rows, tile) == Coverage::none; };
    while (keys.size() > 0) {
        const Index next = std::min(keys.begin + tile_keys, keys.end);
        if (!nothing_in({keys.begin, next})) break;
        keys.begin = next;
    }
    while (keys.size() > 0) {
        const Index next = std::max(keys.end - tile_keys, keys.begin);
        if (!nothing_in({next, keys.end})) break;
        keys.end = next;
    }
    return keys;
}

}  // namespace

HeadScoring::HeadScoring(MapPointer weights, std::span<const std::int32_t> ids)
    : map_(std::move(weights)), by_token_(ids.size()), place_(ids.size()), first_(ids.size()) {
    const auto token = [&](Index i) { return ids[static_cast<std::size_t>(i)]; };
    std::iota(by_token_.begin(), by_token_.end(), Index{0});
    std::ranges::sort(by_token_, {}, [&](Index i) { return std::pair(token(i), i); });
    for (std::size_t i = 0, first = 0; i < by_token_.size(); ++i) {
        if (token(by_token_[i]) != token(by_token_[first])) first = i;
        place_[static_cast<std::size_t>(by_token_[i])] = static_cast<Index>(i);
        first_[static_cast<std::size_t>(by_token_[i])] = static_cast<Index>(first);
    }
}

bool HeadScoring::step() {
    if (done()) return false;
    const Range rows{next_row_, std::min(next_row_ + rows_a_step, map_->queries())},
        keys{next_key_, std::min(next_key_ + keys_a_step, map_->keys())};
    rows_.resize(static_cast<std::size_t>(rows.size()));
    add(rows, keys);
    next_key_ = keys.end;
    if (next_key_ < map_->keys()) return true;
    finish_rows();
    next_row_ = rows.end;
    next_key_ = 0;
    return !done();
}

void HeadScoring::add(Range rows, Range keys) {
    keys = unmasked_part(*map_, rows, keys);
    if (keys.size() <= 0) return;
    const auto width = static_cast<std::size_t>(keys.size());
    cells_.resize(static_cast<std::size_t>(rows.size()) * width);
    entropies_.assign(static_cast<std::size_t>(rows.size()), 0);
    map_->cells({rows, keys}, {cells_.data(), rows.size(), keys.size(), keys.size()}, entropies_);
    for (Index q = rows.begin; q < rows.end; ++q) {
        const auto r = static_cast<std::size_t>(q - rows.begin);
        Row& row = rows_[r];
        const std::span weights = std::span(cells_).subspan(r * width, width);
        row.entropy += entropies_[r];

        double sum = 0, away = 0, distance = static_cast<double>(q - keys.begin);
        for (float& weight : weights) {
            if (weight == masked_cell)
                weight = 0;
            else
                ++row.allowed;
            const auto w = static_cast<double>(weight);
            sum += w;
            away += w * std::abs(distance--);
        }
        row.sum += sum;
        sums_.distance += away;

        const auto on = [&](Index key) {
            return key >= keys.begin && key < keys.end
                       ? static_cast<double>(weights[static_cast<std::size_t>(key - keys.begin)])
                       : 0;
        };
        sums_.previous_token += on(q - 1);
        sums_.current_token += on(q);
        sums_.first_token += on(0);
        if (by_token_.empty()) continue;
        const auto of_token = by_token_.begin() + first_[static_cast<std::size_t>(q)],
                   itself = by_token_.begin() + place_[static_cast<std::size_t>(q)];
        for (auto copy = std::lower_bound(of_token, itself, keys.begin - 1);
             copy != itself && *copy < keys.end; ++copy) {
            sums_.duplicate_token += on(*copy);
            sums_.induction += on(*copy + 1);
        }
    }
}

void HeadScoring::finish_rows() {
    for (const Row& row : rows_) {
        weight_sum_ += row.sum;
        if (row.allowed == 0) continue;
        ++counted_rows_;
        sums_.entropy += row.entropy;
        if (row.allowed == 1) continue;
        ++wide_rows_;
        sums_.spread += row.entropy / std::log(static_cast<double>(row.allowed));
    }
    rows_.clear();
}

HeadScores HeadScoring::scores() const {
    HeadScores scores = sums_;
    for (double* share : {&scores.previous_token, &scores.current_token, &scores.first_token,
                          &scores.duplicate_token, &scores.induction, &scores.distance})
        *share = weight_sum_ == 0 ? 0 : *share / weight_sum_;
    scores.entropy = counted_rows_ ? scores.entropy / static_cast<double>(counted_rows_) : 0;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const bool square = map_->queries() == map_->keys();
    if (!square) scores.previous_token = scores.current_token = scores.distance = none;
    if (!square || by_token_.empty()) scores.duplicate_token = scores.induction = none;
    scores.spread = wide_rows_ ? scores.spread / static_cast<double>(wide_rows_) : 0;
    return scores;
}

}  // namespace attn
