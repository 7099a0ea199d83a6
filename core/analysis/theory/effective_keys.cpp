#include "analysis/theory/effective_keys.hpp"

#include <algorithm>
#include <limits>

namespace attn {

namespace {

constexpr Index work_a_step = Index{1} << 20;  // multiplications
constexpr Index exponential_cost = 40;         // the cost of a cell, in multiplications

}  // namespace

std::vector<double> score_row_of(const Record& record, Index head, Index query) {
    std::vector<float> scores(static_cast<std::size_t>(record.keys()));
    record.stage(Stage::masked, head, {query, query + 1}, {0, record.keys()}, scores);
    return {scores.begin(), scores.end()};
}

EffectiveKeys::EffectiveKeys(std::shared_ptr<const Record> record, Index head, double temperature,
                             Index most_rows)
    : record_(std::move(record)),
      head_(head),
      temperature_(temperature),
      count_(std::min(record_->queries(), most_rows)) {}

bool EffectiveKeys::step() {
    const Index a_row = std::max<Index>(record_->keys() * (record_->d_k() + exponential_cost), 1);
    const Index end = std::min(next_ + std::max<Index>(work_a_step / a_row, 1), count_);
    for (; next_ < end; ++next_) {
        const Index query = (next_ + 1) * record_->queries() / count_ - 1;
        const auto levels = energy_levels(score_row_of(*record_, head_, query));
        if (levels && levels->keys > 0)
            rows_.push_back({query, levels->keys, gibbs(*levels, temperature_).effective_keys()});
    }
    return !done();
}

double EffectiveKeys::share() const {
    if (rows_.empty()) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const Row& row : rows_) sum += row.effective / static_cast<double>(row.seen);
    return sum / static_cast<double>(rows_.size());
}

}  // namespace attn
