#include "analysis/theory/query_moves.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

constexpr double most_moves_work = 4e9, updates_of_query = 16;  // multiplications: some seconds

}  // namespace

Result<HopfieldPatterns> patterns_seen(const Record& record, Index head, Index query) {
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(record.keys()));
    record.spec().mask.row(head, query, 0, allowed);
    return hopfield_patterns(record.k().heads().head(record.kv_head(head)), allowed);
}

Result<std::vector<double>> query_state(const Record& record, Index head, Index query) {
    const ConstMatrix q = record.q().heads().head(head);
    std::vector<double> state;
    for (Index a = 0; a < q.cols; ++a) {
        state.push_back(static_cast<double>(q(query, a)));
        if (!std::isfinite(state.back())) return Error{"A number of this query is not finite."};
    }
    return state;
}

QueryMoves::QueryMoves(std::shared_ptr<const Record> record, Index head, double beta)
    : record_(std::move(record)), head_(head), beta_(beta) {
    const double one = updates_of_query * static_cast<double>(look_cost(record_->keys(), record_->d_k()));
    const auto affordable = static_cast<Index>(std::min(most_moves_work / one, 1e9));
    count_ = std::min(record_->queries(), std::max(affordable, fewest));
}

bool QueryMoves::step() {
    for (Index left = look_work_a_step; left > 0 && !done();) {
        if (!running_) {
            const Index query = (next_ + 1) * record_->queries() / count_ - 1;
            ++next_;
            auto patterns = patterns_seen(*record_, head_, query);
            auto start = query_state(*record_, head_, query);
            left -= look_cost(record_->keys(), record_->d_k());
            if (!patterns || !start || patterns->count() == 0) continue;
            running_.emplace(std::make_shared<const HopfieldPatterns>(*std::move(patterns)), beta_,
                             *std::move(start));
            query_ = query;
            continue;
        }
        left -= look_cost(running_->patterns().count(), record_->d_k());
        if (running_->step()) continue;
        const auto& points = running_->points();
        rows_.push_back({query_, points.size() > 1 ? points[1].moved : 0, running_->travelled(),
                         effective_patterns(running_->weights()), running_->patterns().count(),
                         running_->settled()});
        running_.reset();
    }
    return !done();
}

}  // namespace attn
