#include "analysis/heads/head_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace attn {

namespace {

constexpr Index rows_a_step = 64, keys_a_step = 1024, tile_keys = 256;

// What is divided by the sum of the weights.
constexpr double HeadScores::* shares[] = {&HeadScores::previous_token, &HeadScores::current_token,
                                           &HeadScores::first_token,    &HeadScores::duplicate_token,
                                           &HeadScores::induction,      &HeadScores::distance};

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

TokenCopies::TokenCopies(std::span<const std::int32_t> ids)
    : by_token(ids.size()), place(ids.size()), first(ids.size()) {
    const auto token = [&](Index i) { return ids[static_cast<std::size_t>(i)]; };
    std::iota(by_token.begin(), by_token.end(), Index{0});
    std::ranges::sort(by_token, {}, [&](Index i) { return std::pair(token(i), i); });
    for (std::size_t i = 0, begin = 0; i < by_token.size(); ++i) {
        if (token(by_token[i]) != token(by_token[begin])) begin = i;
        place[static_cast<std::size_t>(by_token[i])] = static_cast<Index>(i);
        first[static_cast<std::size_t>(by_token[i])] = static_cast<Index>(begin);
    }
}

void HeadScoring::go_on_from(std::span<const Sums> before, Index kept) {
    const auto end = std::ranges::find_if(before, [&](const Sums& sums) { return sums.rows > kept; });
    sums_.assign(before.begin(), end);
}

bool HeadScoring::step() {
    if (done()) return false;
    const Index next = next_row(), end = (next / rows_a_step + 1) * rows_a_step;
    const Range rows{next, std::min(end, map_->queries())},
        keys{next_key_, std::min(next_key_ + keys_a_step, map_->keys())};
    rows_.resize(static_cast<std::size_t>(rows.size()));
    add(rows, keys);
    next_key_ = keys.end;
    if (next_key_ < map_->keys()) return true;
    finish_rows();
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
        row.parts.entropy += entropies_[r];

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
        row.parts.distance += away;

        const auto on = [&](Index key) {
            return keys.holds(key) ? static_cast<double>(weights[static_cast<std::size_t>(key - keys.begin)])
                                   : 0;
        };
        row.parts.previous_token += on(q - 1);
        row.parts.current_token += on(q);
        row.parts.first_token += on(0);
        if (!copies_ || copies_->by_token.empty()) continue;
        const auto& [by_token, place, first] = *copies_;
        const auto of_token = by_token.begin() + first[static_cast<std::size_t>(q)],
                   itself = by_token.begin() + place[static_cast<std::size_t>(q)];
        for (auto copy = std::lower_bound(of_token, itself, keys.begin - 1);
             copy != itself && *copy < keys.end; ++copy) {
            row.parts.duplicate_token += on(*copy);
            row.parts.induction += on(*copy + 1);
        }
    }
}

// One row after the other, so that the sums do not depend on the slices that the rows were computed in.
void HeadScoring::finish_rows() {
    Sums sums = sums_.empty() ? Sums{} : sums_.back();
    sums.rows += std::ssize(rows_);
    for (const Row& row : rows_) {
        if (row.sum == 0 || !std::isfinite(row.sum)) continue;
        sums.weights += row.sum;
        for (double HeadScores::* share : shares) sums.scores.*share += row.parts.*share;
        ++sums.counted_rows;
        sums.scores.entropy += row.parts.entropy;
        if (row.allowed == 1) continue;
        ++sums.wide_rows;
        sums.scores.spread += row.parts.entropy / std::log(static_cast<double>(row.allowed));
    }
    rows_.clear();
    if (!sums_.empty() && sums_.back().rows % rows_a_step != 0) sums_.pop_back();
    sums_.push_back(sums);
}

HeadScores HeadScoring::scores() const {
    const Sums sums = sums_.empty() ? Sums{} : sums_.back();
    HeadScores scores = sums.scores;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const bool counts = sums.counted_rows > 0;
    for (double HeadScores::* share : shares) scores.*share = counts ? scores.*share / sums.weights : none;
    scores.entropy = counts ? scores.entropy / static_cast<double>(sums.counted_rows) : none;
    const bool of_one_text = copies_ && map_->queries() == map_->keys();
    if (!of_one_text) scores.previous_token = scores.current_token = scores.distance = none;
    if (!of_one_text || copies_->by_token.empty()) scores.duplicate_token = scores.induction = none;
    scores.spread = sums.wide_rows ? scores.spread / static_cast<double>(sums.wide_rows) : counts ? 0 : none;
    return scores;
}

}  // namespace attn
