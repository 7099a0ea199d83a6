#include "analysis/attribution/token_measures.hpp"

namespace attn {

void TokenMeasures::start(const DirectAttribution& parts, double slice_operations) {
    const auto trace = parts.shared_trace();
    if (!rollout_ || trace != trace_ || parts.row() != row_) rollout_.emplace(trace, parts.row());
    trace_ = trace;
    row_ = parts.row();
    token_ = parts.token();
    slice_operations_ = slice_operations;
    direct_ = parts.tokens();
    gradient_.reset();
    no_gradient_.clear();
    ablation_.reset();
    if (auto gradient = AttentionGradient::start(trace_, row_, token_, slice_operations))
        gradient_.emplace(*std::move(gradient));
    else
        no_gradient_ = gradient.error().message;
}

bool TokenMeasures::step(bool with_ablation) {
    if (rollout_->step() || (gradient_ && gradient_->step())) return true;
    if (!with_ablation) return false;
    if (!ablation_) {
        auto started = TokenAblation::start(trace_, row_, token_, all_measured(), slice_operations_);
        if (!started) return false;
        ablation_.emplace(*std::move(started));
    }
    return !ablation_->done() && ablation_->step();
}

const TokenShares* TokenMeasures::measured(TokenMeasure measure) const {
    switch (measure) {
        case TokenMeasure::direct: return direct_ ? &*direct_ : nullptr;
        case TokenMeasure::rollout: return rollout_ && rollout_->done() ? &rollout_->shares() : nullptr;
        case TokenMeasure::gradient: return gradient_ && gradient_->done() ? &gradient_->shares() : nullptr;
        case TokenMeasure::exact: break;
    }
    return ablation_ && ablation_->done() ? &ablation_->falls() : nullptr;
}

std::vector<const TokenShares*> TokenMeasures::all_measured() const {
    std::vector<const TokenShares*> all;
    for (Index i = 0; i < token_measure_count; ++i)
        if (const TokenShares* shares = measured(static_cast<TokenMeasure>(i))) all.push_back(shares);
    return all;
}

std::optional<double> TokenMeasures::agreement(TokenMeasure measure) const {
    const TokenShares* shares = measured(measure);
    if (!shares || !measured(TokenMeasure::exact)) return std::nullopt;
    return ablation_->agreement(*shares, measure != TokenMeasure::rollout);
}

}  // namespace attn
