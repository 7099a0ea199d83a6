#include "analysis/attribution/attention_gradient.hpp"

#include <algorithm>

namespace attn {

Result<AttentionGradient> AttentionGradient::start(const std::shared_ptr<const Trace>& trace, Index row,
                                                   std::int32_t token, double slice_operations) {
    auto gradient = LogitGradient::start(trace, {.raise = token, .over = {}, .row = row}, slice_operations);
    if (!gradient) return gradient.error();
    return AttentionGradient(*std::move(gradient));
}

AttentionGradient::AttentionGradient(LogitGradient gradient)
    : gradient_(std::move(gradient)), shares_(gradient_.trace()) {
    for (Index number = 0; number < gradient_.trace().attentions(); ++number)
        keys_.emplace_back(static_cast<std::size_t>(gradient_.trace().attention(number).record().keys()));
}

double AttentionGradient::progress() const {
    const Index attentions = gradient_.trace().attentions();
    Index passed = number_;
    for (Index number = 0; number < attentions; ++number) passed += gradient_.heads(number) != nullptr;
    return static_cast<double>(passed) / static_cast<double>(2 * attentions);
}

bool AttentionGradient::step() {
    if (done_) return false;
    if (!gradient_.heads(0)) {
        gradient_.step(0);
        return true;
    }
    constexpr Index products_a_step = Index{1} << 20;  // about a millisecond
    const LayerAttention of = gradient_.trace().attention(number_);
    const Record& record = of.record();
    std::vector<double>& to = keys_[static_cast<std::size_t>(number_)];
    const auto d_v = static_cast<std::size_t>(record.d_v());
    for (Index left = products_a_step; left > 0 && query_ < record.queries(); ++query_) {
        for (Index head = 0; head < record.heads(); ++head) {
            const std::span slopes(gradient_.heads_before(number_)->heads().head(head).row(query_), d_v);
            if (std::ranges::all_of(slopes, [](float slope) { return slope == 0; })) continue;
            const std::vector<float> weights = record.weights(head, query_);
            const ConstMatrix v = record.v().heads().head(record.kv_head(head));
            for (std::size_t key = 0; key < weights.size(); ++key) {
                if (weights[key] == 0) continue;
                double slope = 0;  // ∂L/∂A = ∂L/∂O · V
                const float* value = v.row(static_cast<Index>(key));
                for (std::size_t b = 0; b < d_v; ++b)
                    slope += static_cast<double>(slopes[b]) * static_cast<double>(value[b]);
                to[key] += static_cast<double>(weights[key]) * std::max(slope, 0.0);
            }
        }
        left -= 2 * record.heads() * record.keys() * record.d_v();
    }
    if (query_ < record.queries()) return true;
    std::vector<double>& all = shares_.keys_of(of.place.kind);
    for (std::size_t key = 0; key < to.size(); ++key) all[key] += to[key];
    query_ = 0;
    if (++number_ < gradient_.trace().attentions()) return true;
    done_ = true;
    total_ = shares_.total();
    for (auto* each : {&shares_.own, &shares_.encoded})
        for (double& share : *each) share /= total_ > 0 ? total_ : 1;
    return false;
}

}  // namespace attn
