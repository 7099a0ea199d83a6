#include "analysis/text_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {

TextLoss::TextLoss(std::shared_ptr<const Trace> trace, double slice_operations)
    : trace_(std::move(trace)), rows_(trace_->tokens() - (trace_->network().causal ? 1 : 0)) {
    const WeightView& head = trace_->network().head.weight;
    constexpr double fewest = 64, most_rows = 32;
    at_once_ = static_cast<Index>(std::clamp(static_cast<double>(rows_), 1.0, most_rows));
    const double each = 2 * static_cast<double>(at_once_) * static_cast<double>(head.in);
    part_ = static_cast<Index>(
        std::clamp(slice_operations / each, fewest, static_cast<double>(head.out) + fewest));
}

std::int32_t TextLoss::token(Index row) const {
    return trace_->ids()[static_cast<std::size_t>(row + (trace_->network().causal ? 1 : 0))];
}

double TextLoss::progress() const {
    if (rows_ == 0) return 1;
    const double part = static_cast<double>(next_) / static_cast<double>(trace_->network().head.weight.out);
    return std::min(1.0, (static_cast<double>(losses_.size()) + part * static_cast<double>(sums_.size())) /
                             static_cast<double>(rows_));
}

double TextLoss::value() const {
    return std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(rows_);
}

bool TextLoss::step() {
    if (done()) return false;
    const Index first = std::ssize(losses_), count = std::min(at_once_, rows_ - first),
                vocabulary = trace_->network().head.weight.out;
    if (next_ == 0)
        sums_.assign(static_cast<std::size_t>(count), {.most = -std::numeric_limits<double>::infinity()});
    const Range part{next_, std::min(next_ + part_, vocabulary)};
    const Tensor logits = trace_->logits({first, first + count}, part);
    for (Index i = 0; i < count; ++i) {
        Sum& sum = sums_[static_cast<std::size_t>(i)];
        const float* row = logits.matrix().row(i);
        const double most =
            std::max(sum.most, static_cast<double>(*std::max_element(row, row + part.size())));
        sum.sum *= std::exp(sum.most - most);
        sum.most = most;
        for (Index id = 0; id < part.size(); ++id) sum.sum += std::exp(static_cast<double>(row[id]) - most);
        const Index own = token(first + i) - part.begin;
        if (own >= 0 && own < part.size()) sum.own = static_cast<double>(row[own]);
    }
    next_ = part.end;
    if (next_ < vocabulary) return true;
    next_ = 0;
    for (const Sum& sum : sums_) losses_.push_back(sum.most + std::log(sum.sum) - sum.own);
    sums_.clear();
    return !done();
}

}  // namespace attn
