#include "analysis/theory/row_losses.hpp"

#include <algorithm>
#include <limits>

namespace attn {

RowLosses::RowLosses(MapPointer weights, Mask mask, Index head)
    : weights_(std::move(weights)),
      mask_(std::move(mask)),
      head_(head),
      lost_(static_cast<std::size_t>(weights_->queries()), std::numeric_limits<double>::quiet_NaN()) {}

Result<RowLosses> RowLosses::without_mask(const Record& record, Mask mask, Index head) {
    AttentionSpec spec = record.spec();
    spec.mask = {};
    auto free = record.prepare_under(std::move(spec));
    if (!free) return free.error();
    const auto shared = std::make_shared<Record>(*std::move(free));
    RowLosses losses(stage_map(shared, head, Stage::weight), std::move(mask), head);
    losses.record_ = shared;
    return losses;
}

bool RowLosses::step() {
    constexpr Index cells_a_step = Index{1} << 17;
    const Index n_k = weights_->keys(), n_q = std::ssize(lost_);
    const Range queries{next_,
                        std::min(n_q, next_ + std::max(cells_a_step / std::max(n_k, Index{1}), Index{1}))};
    if (record_) {
        const Index kv_head = record_->kv_head(head_);
        record_->measure(queries, 1, {kv_head, kv_head + 1});
    }
    const std::vector<float> weights = cells_of(*weights_, {queries, {0, n_k}});
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(n_k));
    auto weight = weights.begin();
    for (Index query = queries.begin; query < queries.end; ++query) {
        mask_.row(head_, query, 0, allowed);
        double lost = 0;
        for (const std::uint8_t seen : allowed) {
            if (!seen && *weight != masked_cell) lost += static_cast<double>(*weight);
            ++weight;
        }
        lost_[static_cast<std::size_t>(query)] = lost;
    }
    next_ = queries.end;
    return !done();
}

}  // namespace attn
