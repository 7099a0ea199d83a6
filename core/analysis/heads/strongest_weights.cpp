#include "analysis/heads/strongest_weights.hpp"

#include <algorithm>

namespace attn {

StrongestWeights::StrongestWeights(std::shared_ptr<const Trace> trace, Index attention, Index query)
    : trace_(std::move(trace)),
      heads_(trace_->model()->config().heads),
      attention_(attention),
      query_(query) {}

bool StrongestWeights::step() {
    if (done()) return false;
    const Index next = std::ssize(all_);
    const LayerAttention at = trace_->attention(next / heads_);
    all_.emplace_back();
    if (&at.queries != &trace_->attention(attention_).queries || at.record().keys() == 0) return true;
    const std::vector<float> weights = at.record().weights(next % heads_, query_);
    const auto most = std::ranges::max_element(weights);
    double rest = 0;
    for (auto each = weights.begin(); each != weights.end(); ++each)
        if (each != most) rest += static_cast<double>(*each);
    all_.back() = Look{most - weights.begin(), static_cast<double>(*most), rest};
    return true;
}

std::optional<StrongestWeights::Look> StrongestWeights::of(const HeadIndex& head) const {
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    return at < all_.size() ? all_[at] : std::nullopt;
}

}  // namespace attn
