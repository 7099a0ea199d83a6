#include "analysis/head_scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace attn {

namespace {

constexpr Index rows_a_step = 64, keys_a_step = 1024, tile_keys = 256;

// What the mask leaves of the keys, but for tiles at both ends of which it leaves nothing.
Range allowed_part(const Mask& mask, Index head, Range rows, Range keys) {
    const auto nothing_in = [&](Range tile) { return mask.tile(head, rows, tile) == Coverage::none; };
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

HeadScoring::HeadScoring(const Record& record, Index head, std::span<const std::int32_t> ids)
    : record_(&record), head_(head), by_token_(ids.size()), place_(ids.size()), first_(ids.size()) {
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
    const Range rows{next_row_, std::min(next_row_ + rows_a_step, record_->queries())},
        keys{next_key_, std::min(next_key_ + keys_a_step, record_->keys())};
    rows_.resize(static_cast<std::size_t>(rows.size()));
    add(rows, keys);
    next_key_ = keys.end;
    if (next_key_ < record_->keys()) return true;
    finish_rows();
    next_row_ = rows.end;
    next_key_ = 0;
    return !done();
}

void HeadScoring::add(Range rows, Range keys) {
    const Mask& mask = record_->spec().mask;
    keys = allowed_part(mask, head_, rows, keys);
    if (keys.size() <= 0) return;
    const auto width = static_cast<std::size_t>(keys.size());
    const bool whole = mask.tile(head_, rows, keys) == Coverage::all;
    cells_.resize(static_cast<std::size_t>(rows.size()) * width);
    allowed_.resize(width);
    record_->stage(Stage::masked, head_, rows, keys, cells_);
    for (Index q = rows.begin; q < rows.end; ++q) {
        Row& row = rows_[static_cast<std::size_t>(q - rows.begin)];
        const std::span weights =
            std::span(cells_).subspan(static_cast<std::size_t>(q - rows.begin) * width, width);
        row.entropy += static_cast<double>(record_->weigh(head_, q, weights));
        if (!whole) mask.row(head_, q, keys.begin, allowed_);
        row.allowed += whole ? keys.size() : std::ranges::count_if(allowed_, std::identity());

        double sum = 0, away = 0, distance = static_cast<double>(q - keys.begin);
        for (const float weight : weights) {
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
    scores.spread = wide_rows_ ? scores.spread / static_cast<double>(wide_rows_) : 0;
    return scores;
}

}  // namespace attn
