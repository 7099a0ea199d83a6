#include "analysis/head_scores.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

constexpr Index cells_a_step = Index{1} << 16;
constexpr Index most_rows = 64, tile_cols = 256;

}  // namespace

HeadScoring::HeadScoring(const Record& record, Index head, std::span<const std::int32_t> ids)
    : record_(&record),
      head_(head),
      ids_(ids),
      value_norms_(row_norms(record.v().heads().head(record.kv_head(head)))) {}

bool HeadScoring::step() {
    if (done()) return false;
    const Index keys = record_->keys();
    const Index count = std::clamp(cells_a_step / std::max(keys, Index{1}), Index{1}, most_rows);
    const Range rows{next_row_, std::min(next_row_ + count, record_->queries())};
    std::vector<Row> sums(static_cast<std::size_t>(rows.size()));
    for (Index begin = 0; begin < keys; begin += tile_cols) {
        const Range cols{begin, std::min(begin + tile_cols, keys)};
        if (record_->spec().mask.tile(head_, rows, cols) != Coverage::none) add_tile(rows, cols, sums);
    }
    for (const Row& row : sums) {
        weight_sum_ += row.sum;
        if (row.allowed == 0) continue;
        ++rows_;
        sums_.entropy += row.entropy;
        if (row.allowed == 1) continue;
        ++wide_rows_;
        sums_.spread += row.entropy / std::log(static_cast<double>(row.allowed));
    }
    next_row_ = rows.end;
    return !done();
}

void HeadScoring::add_tile(Range rows, Range cols, std::span<Row> sums) {
    const auto width = static_cast<std::size_t>(cols.size());
    weights_.resize(static_cast<std::size_t>(rows.size()) * width);
    scaled_.resize(weights_.size());
    allowed_.resize(width);
    record_->stage(Stage::weight, head_, rows, cols, weights_);
    record_->stage(Stage::scaled, head_, rows, cols, scaled_);
    const auto token = [&](Index i) { return ids_[static_cast<std::size_t>(i)]; };
    for (Index q = rows.begin; q < rows.end; ++q) {
        Row& row = sums[static_cast<std::size_t>(q - rows.begin)];
        const std::size_t first = static_cast<std::size_t>(q - rows.begin) * width;
        record_->spec().mask.row(head_, q, cols.begin, allowed_);
        for (std::size_t j = 0; j < width; ++j) {
            if (!allowed_[j]) continue;
            const Index k = cols.begin + static_cast<Index>(j);
            const float scaled = scaled_[first + j], single = weights_[first + j];
            sums_.scaled_least = any_allowed_ ? std::min(sums_.scaled_least, scaled) : scaled;
            sums_.scaled_most = any_allowed_ ? std::max(sums_.scaled_most, scaled) : scaled;
            any_allowed_ = true;
            sums_.contribution_most =
                std::max(sums_.contribution_most, single * value_norms_[static_cast<std::size_t>(k)]);
            ++row.allowed;
            if (single == 0) continue;
            const auto w = static_cast<double>(single);
            row.sum += w;
            row.entropy -= w * std::log(w);
            if (k == q - 1) sums_.previous_token += w;
            if (k == q) sums_.current_token += w;
            if (k == 0) sums_.first_token += w;
            if (k < q && token(k) == token(q)) sums_.duplicate_token += w;
            if (k >= 1 && k <= q && token(k - 1) == token(q)) sums_.induction += w;
        }
    }
}

HeadScores HeadScoring::scores() const {
    HeadScores scores = sums_;
    for (double* share : {&scores.previous_token, &scores.current_token, &scores.first_token,
                          &scores.duplicate_token, &scores.induction})
        *share = weight_sum_ == 0 ? 0 : *share / weight_sum_;
    scores.entropy = rows_ ? scores.entropy / static_cast<double>(rows_) : 0;
    scores.spread = wide_rows_ ? scores.spread / static_cast<double>(wide_rows_) : 0;
    return scores;
}

}  // namespace attn
