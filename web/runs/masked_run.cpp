#include "runs/masked_run.hpp"

#include <algorithm>
#include <cmath>

namespace attn::app {

namespace {

constexpr double operations_a_slice = 60e6;  // about 2 ms at 30 GFLOP/s
constexpr Index likeliest = 5;               // number of tokens per run

std::vector<float> logits_of(const Trace& trace, Index token) {
    const Tensor logits = trace.logits({token, token + 1});
    return {logits.values().begin(), logits.values().end()};
}

}  // namespace

std::vector<double> probabilities_of(std::span<const float> logits) {
    double most = -HUGE_VAL, sum = 0;
    for (const float logit : logits) most = std::max(most, static_cast<double>(logit));
    std::vector<double> shares;
    for (const float logit : logits) sum += shares.emplace_back(std::exp(static_cast<double>(logit) - most));
    for (double& share : shares) share /= sum;
    return shares;
}

AttentionKind kind_of(const Attention& attention) {
    return attention.trace()->model()->network().place_of(attention.alike().begin).kind;
}

Status MaskedRun::follow(const Attention& attention, const Mask& mask) {
    if (attention.version() == version_ && attention.logits_row() == predicted_ && mask == mask_)
        return failure_ ? Status(*failure_) : ok();
    forget();
    version_ = attention.version();
    mask_ = mask;
    const Trace& trace = *attention.trace();
    predicted_ = attention.logits_row();
    const auto copied = [](std::span<const std::int32_t> ids) {
        return std::vector<std::int32_t>(ids.begin(), ids.end());
    };
    const Trace* encoder = trace.encoder().get();
    auto forward = ForwardPass::start_under(
        mask, trace.model(), copied(encoder ? encoder->ids() : trace.ids()), trace.kernels(),
        operations_a_slice, copied(trace.segments()),
        encoder ? copied(trace.ids()) : std::vector<std::int32_t>(), kind_of(attention));
    if (!forward) {
        failure_ = forward.error();
        return *failure_;
    }
    forward_ = *std::move(forward);
    before_ = logits_of(trace, predicted_);
    return ok();
}

bool MaskedRun::step() {
    if (!forward_) return false;
    if (forward_->step()) return true;
    const auto trace = forward_->finish();
    forward_.reset();
    if (!trace) {
        failure_ = trace.error();
        return false;
    }
    after_ = logits_of(**trace, predicted_);
    chances_before_ = probabilities_of(before_);
    chances_after_ = probabilities_of(after_);
    for (std::size_t i = 0; i < before_.size(); ++i)
        moved_ += std::abs(chances_before_[i] - chances_after_[i]) / 2;
    for (const auto* logits : {&before_, &after_})
        for (const Candidate& c : next_token_distribution(*logits, {.temperature = 1}, likeliest))
            if (std::ranges::find(tokens_, c.id) == tokens_.end()) tokens_.push_back(c.id);
    return false;
}

}  // namespace attn::app
